package rollout

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

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
	l, within, why := t.limits(r), organizationsOf(t), ""
	for _, id := range t.ids(r) {
		if m := r.Members[id]; m.State != MemberPending || m.Wave > r.Wave || !t.changeableIn(r, id) {
			continue
		}
		full := within.full(t, id)
		if t.w.Targets[id].Health == Broken || !l.full(t, id) && within.blocks(full) == "" {
			return ""
		}
		if !l.full(t, id) {
			why = within.blocks(full)
			continue
		}
		group := "with " + l.spread.Label + "=" + l.domain(t, id)
		if l.domain(t, id) == "" {
			group = "without the label " + l.spread.Label
		}
		why = "as many members " + group + " as may be unavailable failed or are silent"
	}
	return why
}

// organizations are the limits of organizations for targets that are unavailable because of changes, of all rollouts
// together.
type organizations struct {
	most map[fleet.Organization]int
	busy map[fleet.Organization]map[ID]bool // unavailable targets
	// applying are the organizations with a target that is being changed now.
	applying map[fleet.Organization]bool
}

// organizationsOf counts the targets of organizations with a limit that are unavailable now.
func organizationsOf(t *turn) organizations {
	out := organizations{map[fleet.Organization]int{}, map[fleet.Organization]map[ID]bool{},
		map[fleet.Organization]bool{}}
	for _, l := range t.w.Limits {
		if l.MaxUnavailable != (Amount{}) {
			out.most[l.Organization] = limit(l.MaxUnavailable, sizes(t)[l.Organization])
			out.busy[l.Organization] = map[ID]bool{}
		}
	}
	if len(out.most) == 0 {
		return out
	}
	for _, r := range t.s.Open() {
		for id, m := range r.Members {
			gone := (m.State == MemberFailed || m.State == MemberSilent) && !m.forgiven
			returns := r.Phase == RollingBack && m.touched() && m.State != MemberReturned
			if returns || !m.Lost && (m.State == MemberGranted || gone) {
				out.count(t, id, returns || m.State == MemberGranted)
			}
		}
	}
	for id, c := range t.s.catching {
		if !c.Free && !c.New {
			out.count(t, id, true)
		}
	}
	return out
}

// sizes returns the numbers of targets of organizations.
func sizes(t *turn) map[fleet.Organization]int {
	if t.within == nil {
		t.within = map[fleet.Organization]int{}
		for _, target := range t.w.Targets {
			for _, path := range target.Organization.Path() {
				t.within[path]++
			}
		}
	}
	return t.within
}

// count notes that a target is unavailable. applying means that it is being changed now.
func (o organizations) count(t *turn, id ID, applying bool) {
	target, ok := t.w.Targets[id]
	for path := range o.most {
		if ok && path.Contains(target.Organization) {
			o.busy[path][id] = true
			o.applying[path] = o.applying[path] || applying
		}
	}
}

// full returns the organization because of whose limit a target must not become unavailable now, or "".
func (o organizations) full(t *turn, id ID) fleet.Organization {
	for _, path := range t.w.Targets[id].Organization.Path() {
		if most, limited := o.most[path]; limited && !o.busy[path][id] && len(o.busy[path]) >= most {
			return path
		}
	}
	return ""
}

// blocks returns the reason why no target of an organization can become unavailable any more, or "": nothing is being
// applied there, and failed or silent targets are in the way.
func (o organizations) blocks(path fleet.Organization) string {
	if path == "" || o.applying[path] {
		return ""
	}
	return fmt.Sprintf("as many targets of the organization %s as may be unavailable failed or are silent", path)
}

// awaitsApproval reports whether a member without the change waits for the approval of its organization. Such a
// rollout does not end: afterwards its content would be stable, which needs no approval.
func awaitsApproval(t *turn, r *Rollout, wave int) bool {
	if !slices.ContainsFunc(t.w.Limits, func(l fleet.Limits) bool { return l.Approvals > 0 }) {
		return false
	}
	for id, m := range r.Members {
		if m.State == MemberPending && (wave == allWaves || m.Wave == wave) && t.w.unapproved(r, id) != "" {
			return true
		}
	}
	return false
}
