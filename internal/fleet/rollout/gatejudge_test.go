package rollout_test

import (
	"slices"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// answers are the answers to a gate that count.
type answers struct {
	passes, failures, errors int
	pass, rejected           bool
	users                    map[string]int64 // time of the approval
}

// given returns the answers to a gate since the bake time of the wave began, from the log alone.
func given(log []rollout.Event, id, gate string) (a answers, wave int) {
	empty := func() answers { return answers{users: map[string]int64{}} }
	a = empty()
	plan, _, _, _ := last(log, id)
	for _, e := range log {
		switch {
		case e.Rollout != id:
		case e.Kind == rollout.Advanced:
			wave, a = e.Wave, empty()
		case e.Kind == rollout.Settled || e.Kind == rollout.Unsettled:
			a = empty()
		case e.Kind == rollout.Resumed && a.stopped(plan.Waves[wave].Gates, gate):
			a = empty() // the gate is asked again
		case e.Gate != gate || e.Why == "stale":
		case e.Kind == rollout.Approved:
			a.users[e.By] = e.At
		case e.Kind == rollout.Rejected:
			a.rejected = true
		case e.Kind == rollout.Measured:
			a.count(e.Verdict)
		}
	}
	return a, wave
}

// stopped reports whether the answers stop a rollout.
func (a answers) stopped(all []rollout.Gate, gate string) bool {
	i := slices.IndexFunc(all, func(g rollout.Gate) bool { return g.Name == gate })
	return i >= 0 && (a.rejected || a.failures > all[i].FailureLimit || a.errors > all[i].ErrorLimit)
}

func (a *answers) count(v rollout.Verdict) {
	a.pass = v == rollout.Pass
	switch v {
	case rollout.Pass:
		a.passes++
		a.errors = 0
	case rollout.Fail:
		a.failures++
		a.errors = 0
	case rollout.Unclear:
		a.errors++
	case rollout.None:
		a.errors = 0
	}
}

// passed checks that each gate of a wave passed before its end.
func (f *fleet) passed(log []rollout.Event, e rollout.Event) {
	if e.Kind == rollout.Ended && e.Phase != rollout.Completed && e.Phase != rollout.WithExceptions {
		return
	}
	plan, _, _, _ := last(log, e.Rollout)
	if len(plan.Waves) == 0 {
		return // the content was adopted
	}
	_, wave := given(log, e.Rollout, "")
	for _, g := range plan.Waves[wave].Gates {
		a, _ := given(log, e.Rollout, g.Name)
		enough := a.pass && a.passes >= g.Count && a.failures <= g.FailureLimit
		if g.Type == rollout.ApprovalGate {
			enough = !a.rejected && f.approvals(plan, g, a) >= g.Need
		}
		if !g.DryRun && !enough && compared(log, e.Rollout, wave, g) {
			f.tell("the wave %d of %s ended, and the gate %s has %+v", wave, e.Rollout, g.Name, a)
		}
	}
}

// approvals returns the number of users who approved, without the author. An unknown author may be any of them.
func (f *fleet) approvals(plan *rollout.Plan, g rollout.Gate, a answers) (n int) {
	for by, at := range a.users {
		if g.NotAuthor && by == plan.Author {
			f.tell("the author %s approves", by)
		}
		if by == "zoe" {
			f.tell("zoe approves at the gate %s", g.Name)
		}
		if g.Expires == 0 || f.now-at < g.Expires {
			n++
		}
	}
	if g.NotAuthor && plan.Author == "" {
		n--
	}
	return n
}

// undecided checks that a wave whose gate failed does not continue.
func (f *fleet) undecided(log []rollout.Event, e rollout.Event) {
	plan, _, _, _ := last(log, e.Rollout)
	for _, g := range plan.Waves[e.Wave].Gates {
		if a, _ := given(log, e.Rollout, g.Name); !g.DryRun && (a.rejected || a.failures > g.FailureLimit) {
			f.tell("the wave %d of %s continues, and the gate %s failed", e.Wave, e.Rollout, g.Name)
		}
	}
}
