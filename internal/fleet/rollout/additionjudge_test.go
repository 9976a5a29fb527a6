package rollout_test

import (
	"slices"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// lack is a part that a host with an assignment wants and does not have.
type lack struct {
	since     int64
	asked     bool // because of a label
	joined    bool // since its first assignment
	published bool // an assignment was published meanwhile
}

// misses notes the parts that hosts lack.
func (f *fleet) misses(w rollout.World) {
	for id, h := range f.hosts {
		target := w.Targets[id]
		now := map[string]lack{}
		for _, part := range target.Missing {
			l, known := h.lacking[part]
			if !known {
				l.since = f.now
			}
			l.asked = l.asked || slices.Contains(target.Ordered, part)
			now[part] = l
		}
		if h.fresh {
			now = h.lacking
		}
		h.lacking = now
	}
}

// joins notes the parts that a new host does not have after its first assignment.
func (f *fleet) joins(h *host) {
	if !h.fresh {
		return
	}
	h.lacking = map[string]lack{}
	for _, c := range f.wants(h) {
		if c.Digest != "" && h.parts[c.Part] == "" {
			h.lacking[c.Part] = lack{since: f.now, joined: true}
		}
	}
}

// added checks that a host gets a part that it lacks by a rollout, or because it joined.
func (f *fleet) added(h *host, c rollout.Change) {
	l := h.lacking[c.Part]
	if h.fresh || c.Digest == "" || h.parts[c.Part] != "" || l.asked || l.joined || f.target(h).Lane == "" {
		return
	}
	for _, r := range f.s.Returns(h.id) {
		if r.Part == c.Part {
			return
		}
	}
	if !f.delivers(h.id, c, l.since) {
		f.tell("%s gets %s %s without a rollout, and lacks it since %d", h.id, c.Part, c.Digest, l.since)
	}
}

// delivers reports whether an open rollout granted a part to a host, or a rollout with it as a member is complete since
// a time.
func (f *fleet) delivers(id rollout.ID, c rollout.Change, since int64) bool {
	for _, e := range f.log {
		if e.Kind != rollout.Created || !brings(e.Created, c) {
			continue
		}
		plan, _, _, state := last(f.log, e.Rollout)
		is, known := state[id]
		planned := slices.ContainsFunc(plan.Waves, func(w rollout.Wave) bool { return slices.Contains(w.Members, id) })
		end := f.end(e.Rollout)
		switch {
		case is == rollout.Left:
		case end.Kind == "" && known && is != rollout.Joined, isComplete(end) && end.At >= since && (known || planned):
			return true
		}
	}
	return false
}

// brings reports whether a rollout brings a change to targets, also as the addition of a part.
func brings(p *rollout.Plan, c rollout.Change) bool {
	return slices.ContainsFunc(p.Changes, func(o rollout.Change) bool { return o.Part == c.Part && o.Digest == c.Digest })
}

// end returns the event that ended a rollout; its kind is "" if there is none.
func (f *fleet) end(id string) rollout.Event {
	for _, e := range slices.Backward(f.log) {
		if e.Rollout == id && e.Kind == rollout.Ended {
			return e
		}
	}
	return rollout.Event{}
}
