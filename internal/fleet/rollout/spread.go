package rollout

// limits are the limits of grants in addition to the limit of the wave.
type limits struct {
	spread *Spread
	busy   map[string]int // unavailable members by domain
	rate   int            // 0: none
	recent int            // grants of the last minute
}

// limits counts the members that are unavailable, and the recent grants. A failure that an operator accepted does not
// count.
func (t *turn) limits(r *Rollout) *limits {
	out := &limits{spread: r.Plan.Strategy.Spread, busy: map[string]int{}, rate: r.Plan.Strategy.Rate}
	for _, at := range r.grants {
		if t.now-at < rateTime {
			out.recent++
		}
	}
	for id, m := range r.Members {
		gone := m.State == MemberFailed || m.State == MemberSilent
		if !m.Lost && (m.State == MemberGranted || gone && !m.forgiven) {
			out.busy[out.domain(t, id)]++
		}
	}
	return out
}

// domain returns the failure domain of a target.
func (l *limits) domain(t *turn, id ID) string {
	if l.spread == nil {
		return ""
	}
	return t.w.Targets[id].Labels[l.spread.Label]
}

// allow reports whether one more member can be granted. A lost member is not limited by its domain.
func (l *limits) allow(t *turn, id ID, lost bool) bool {
	return (l.rate == 0 || l.recent < l.rate) && (lost || !l.full(t, id))
}

// full reports whether no further member of a domain may become unavailable.
func (l *limits) full(t *turn, id ID) bool {
	return l.spread != nil && l.busy[l.domain(t, id)] >= l.spread.Max
}

// count notes a grant.
func (l *limits) count(t *turn, id ID, lost bool) {
	if l.recent++; !lost {
		l.busy[l.domain(t, id)]++
	}
}

// stuck returns the reason why no grant is possible any more, or "": nothing is being applied, and failed or silent
// members are in the way.
func (t *turn) stuck(r *Rollout) string {
	if r.count(allWaves, MemberGranted) > 0 {
		return ""
	}
	if r.free() <= 0 {
		return "as many members as may be unavailable failed or are silent"
	}
	l, why := t.limits(r), ""
	for _, id := range t.ids(r) {
		if m := r.Members[id]; m.State != MemberPending || m.Wave > r.Wave || !t.changeableIn(r, id) {
			continue
		}
		if !l.full(t, id) || t.w.Targets[id].Health == Broken {
			return ""
		}
		group := "with " + l.spread.Label + "=" + l.domain(t, id)
		if l.domain(t, id) == "" {
			group = "without the label " + l.spread.Label
		}
		why = "as many members " + group + " as may be unavailable failed or are silent"
	}
	return why
}
