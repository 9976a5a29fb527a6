package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	fleets "fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

func organizationNames() []fleets.Organization {
	return []fleets.Organization{"", "a", "a/b", "a/b/c", "ab"}
}

// limitsOrganizations draws limits of organizations. Many fleets have none.
func (f *fleet) limitsOrganizations(rt *rapid.T) {
	f.limits = nil
	for _, o := range organizationNames()[1:] {
		l := fleets.Limits{Organization: o, Approvals: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "approvals"),
			MaxUnavailable: rapid.SampledFrom([]rollout.Amount{{}, {Number: 1}, {Number: 3}, {Number: 50, Percent: true}}).
				Draw(rt, "unavailable")}
		if rapid.Bool().Draw(rt, "declared") {
			f.limits = append(f.limits, l)
		}
	}
}

// approves lets a user approve or reject a rollout for an organization. Some approvals do not count, and are refused.
func (f *fleet) approves(rt *rapid.T) {
	for _, r := range f.s.Open() {
		c := rollout.Command{Action: rollout.ToApprove, Rollout: r.ID,
			By:           rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "user"),
			Organization: rapid.SampledFrom(organizationNames()[1:]).Draw(rt, "organization")}
		before := f.consented(f.log, r.ID)
		related := slices.ContainsFunc(before[c.By], func(o fleets.Organization) bool {
			return o.Contains(c.Organization) || c.Organization.Contains(o)
		})
		vetoed := false
		for _, e := range f.log {
			if e.Rollout == r.ID && e.Organization == c.Organization {
				vetoed = e.Kind == rollout.Vetoed
			}
		}
		if rapid.IntRange(0, 3).Draw(rt, "rejects") == 0 {
			c.Action, c.Why, related = rollout.ToReject, "why", vetoed
		}
		if open := r.Phase != rollout.RollingBack; f.answer(c) != (open && !related) {
			f.tell("%+v, after %v, in the phase %s", c, before, r.Phase)
		}
	}
}

// consented returns the organizations for which users approved a rollout, since the last rejection for each of them.
func (f *fleet) consented(log []rollout.Event, id string) map[string][]fleets.Organization {
	out := map[string][]fleets.Organization{}
	for _, e := range log {
		switch {
		case e.Rollout != id || e.Organization == "":
		case e.Kind == rollout.Approved:
			out[e.By] = append(out[e.By], e.Organization)
		case e.Kind == rollout.Vetoed:
			for user, all := range out {
				out[user] = slices.DeleteFunc(all, func(o fleets.Organization) bool { return o == e.Organization })
			}
		}
	}
	return out
}

// agreed reports whether enough different users approved a rollout for the organizations of a host.
func (f *fleet) agreed(log []rollout.Event, id string, h *host) bool {
	need, users := 0, map[string]bool{}
	for _, l := range f.limits {
		if !l.Organization.Contains(h.organization) {
			continue
		}
		n := 0
		for user, all := range f.consented(log, id) {
			if slices.Contains(all, l.Organization) {
				n++
				users[user] = true
			}
		}
		if need += l.Approvals; n < l.Approvals {
			return false
		}
	}
	return len(users) >= need
}

// unavailable returns the hosts that rollouts and catching up make unavailable, by the log alone.
func (f *fleet) unavailable(log []rollout.Event) map[rollout.ID]bool {
	out := map[rollout.ID]bool{}
	type member struct {
		kind           rollout.Kind
		lost, accepted bool
		touched        bool
	}
	all, back := map[string]map[rollout.ID]*member{}, map[string]bool{}
	for _, e := range log {
		r := all[e.Rollout]
		switch {
		case e.Kind == rollout.CatchesUp && e.At == f.now && !e.Lost && !e.New:
			for _, id := range e.Targets {
				out[id] = true
			}
		case e.Kind == rollout.Created && e.Rollout != "":
			all[e.Rollout] = map[rollout.ID]*member{}
		case e.Kind == rollout.Ended:
			delete(all, e.Rollout)
		case e.Kind == rollout.Breached && e.Reaction == rollout.Rollback:
			back[e.Rollout] = true
		case e.Kind == rollout.Resumed:
			for _, m := range r {
				m.accepted = m.kind == rollout.Failed || m.kind == rollout.Silent
			}
		case e.Target == "" || r == nil:
		default:
			m := r[e.Target]
			if m == nil {
				m = &member{}
				r[e.Target] = m
			}
			m.kind, m.accepted = e.Kind, m.accepted && e.Kind != rollout.Granted
			switch e.Kind {
			case rollout.Granted:
				m.lost, m.touched = e.Lost, true
			case rollout.Ready:
				m.lost = false
			case rollout.Left, rollout.Returned, rollout.Joined, rollout.Retried:
				m.touched = false
			}
		}
	}
	for id, members := range all {
		for target, m := range members {
			if back[id] && m.touched || inFlight(m.kind) && !m.lost && !m.accepted {
				out[target] = true
			}
		}
	}
	for id, h := range f.hosts {
		if f.isBehind(h) && !h.behind.isNew {
			out[id] = true
		}
	}
	return out
}

// within checks the limits of the organizations of hosts that become unavailable.
func (f *fleet) within(log []rollout.Event, what string, ids ...rollout.ID) {
	busy := f.unavailable(log)
	for _, id := range ids {
		for _, l := range f.limits {
			if l.MaxUnavailable == (rollout.Amount{}) || !l.Organization.Contains(f.hosts[id].organization) || busy[id] {
				continue
			}
			size, n := 0, 1
			for other, h := range f.hosts {
				if l.Organization.Contains(h.organization) {
					size++
					if busy[other] {
						n++
					}
				}
			}
			if most := max(1, l.MaxUnavailable.Of(size)); n > most {
				f.tell("%s: %s makes %d of %d hosts of %s unavailable, and the limit is %s", id, what, n, size, l.Organization,
					l.MaxUnavailable)
			}
		}
		busy[id] = true
	}
}

// organized checks one event against the limits of organizations.
func (f *fleet) organized(log []rollout.Event, e rollout.Event) {
	switch {
	case e.Kind == rollout.Granted:
		if !f.agreed(log, e.Rollout, f.hosts[e.Target]) {
			f.tell("%s of %s is granted %s, and only %v approved it", e.Target, f.hosts[e.Target].organization, e.Rollout,
				f.consented(log, e.Rollout))
		}
		if !e.Lost {
			f.within(log, "a grant of "+e.Rollout, e.Target)
		}
	case e.Kind == rollout.CatchesUp && !e.Lost && !e.New:
		f.within(log, "catching up", e.Targets...)
	case e.Kind == rollout.Ended && (e.Phase == rollout.Completed || e.Phase == rollout.WithExceptions):
		plan, _, _, state := last(log, e.Rollout)
		pending := []rollout.Kind{"", rollout.Joined, rollout.Retried}
		for _, w := range plan.Waves {
			for _, id := range w.Members {
				if h := f.hosts[id]; h != nil && slices.Contains(pending, state[id]) && !f.agreed(log, e.Rollout, h) {
					f.tell("%s is complete, and %s waits for the approval of %s", e.Rollout, id, h.organization)
				}
			}
		}
	}
}

// agree lets as many users as necessary approve all rollouts for all organizations.
func (f *fleet) agree() {
	for _, r := range f.s.Open() {
		for _, l := range f.limits {
			for i := 0; len(r.Consents[l.Organization]) < l.Approvals && i < 40; i++ {
				f.answer(rollout.Command{Action: rollout.ToApprove, Rollout: r.ID, Organization: l.Organization,
					By: fmt.Sprintf("user%d", i)})
			}
		}
	}
}

// organizationFleet returns a fleet whose hosts belong to organizations in turn.
func organizationFleet(t *testing.T, n int, s rollout.Strategy, limits []fleets.Limits,
	names ...fleets.Organization) *fleet {
	f := newFleet(t, n, s)
	f.limits = limits
	for i, id := range sortedHosts(f) {
		f.hosts[id].organization = names[i%len(names)]
	}
	return f
}
