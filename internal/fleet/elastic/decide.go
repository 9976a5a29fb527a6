package elastic

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/duration"
)

// Decide returns the state after an observation, and the change to perform now. now is in ms since 1970.
func Decide(s State, in Input, now int64) (State, Decision) {
	in.Hubs = slices.SortedFunc(slices.Values(in.Hubs), byName)
	v := &view{State: s.clone(), Input: in, now: now}
	v.restart(in, now)
	v.Decided = now
	v.observe()
	if in.Policy.Mode != Act {
		v.Pending = Change{}
	}
	v.finish()
	v.forget(in.Hubs, now)
	v.resize()
	return v.State, v.decide()
}

// nothing returns a decision without a change.
func nothing(format string, args ...any) Decision {
	return Decision{Change: Change{Reason: fmt.Sprintf(format, args...)}}
}

// decide returns the next change.
func (v *view) decide() Decision {
	voters, answer := v.voters(), 0
	for _, h := range voters {
		if v.fresh(h) {
			answer++
		}
	}
	switch {
	case v.Policy.Mode == Off:
		return nothing("the policy of the fleet does not let hubs decide about hubs")
	case answer <= len(voters)/2:
		return nothing("%d of %d voters answer, which is not a majority", answer, len(voters))
	case v.Pending.Kind != Nothing:
		return v.proceed()
	case v.Changed != 0 && !since(v.Changed, v.now, v.Policy.Interval):
		return nothing("the last change was less than %s ago", duration.Text(v.Policy.Interval))
	}
	for _, next := range []func() (Change, bool){v.repairVotes, v.retireFailed, v.nominate, v.spreadVotes,
		v.nominateElsewhere, v.empty} {
		if c, ok := next(); ok {
			return Decision{Change: c, New: true}
		}
	}
	return v.rest()
}

// rest explains why nothing changes.
func (v *view) rest() Decision {
	switch n := len(v.staying()); {
	case n < v.Size:
		return nothing("the fleet needs %s and has %d, and no other host can become a hub now", countHubs(v.Size), n)
	case n > v.Size && !since(v.Changed, v.now, v.Policy.ShrinkInterval) && v.Changed != 0:
		return nothing("the fleet has %s and needs %d, and the last change was less than %s ago", countHubs(n), v.Size,
			duration.Text(v.Policy.ShrinkInterval))
	case n > v.Size:
		return nothing("the fleet has %s and needs %d, and each of them votes or was joined by an operator",
			countHubs(n), v.Size)
	}
	return nothing("the fleet has %s, as needed", countHubs(v.Size))
}

// finish forgets the accepted change if the observation shows its effect.
func (v *view) finish() {
	h, there := v.hub(v.Pending.Name)
	done := false
	switch v.Pending.Kind {
	case Nominate:
		done = there && v.good(h)
	case Vote:
		done = slices.Equal(names(v.voters()), v.Pending.Voters) || since(v.Pending.Since, v.now, VoteWithin)
	case Empty, Retire, Withdraw:
		done = !there || h.Voter || h.Fixed
	}
	if done {
		v.Pending = Change{}
	}
}

// proceed continues the accepted change.
func (v *view) proceed() Decision {
	p := v.Pending
	h, _ := v.hub(p.Name)
	switch {
	case p.Kind == Nominate && since(p.Since, v.now, v.Policy.ReadyWithin):
		return Decision{New: true, Change: Change{Kind: Withdraw, Name: p.Name,
			Reason: fmt.Sprintf("%s did not become a hub within %s", p.Name, duration.Text(v.Policy.ReadyWithin))}}
	case p.Kind == Empty && h.Load != nil && h.Load.Connections == 0 && v.fresh(h):
		return Decision{New: true, Change: Change{Kind: Retire, Name: p.Name, Reason: p.Reason}}
	case p.Kind == Empty && (v.failed(h) && !v.fresh(h) || since(p.Since, v.now, v.Policy.EmptyWithin)):
		return Decision{New: true, Change: Change{Kind: Retire, Name: p.Name,
			Reason: p.Reason + "; agents that it still has connect to other hubs"}}
	}
	return Decision{Change: p}
}
