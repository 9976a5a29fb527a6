package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Order returns the events of a command, and folds them into the state. It returns a *CommandError if the
// command has no meaning in the present state; nothing changes then. Repeating a command is an error, too.
func (s *State) Order(c Command, now int64) ([]Event, error) {
	r := s.Rollouts[c.Rollout]
	if r == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoRollout, c.Rollout)
	}
	e, err := s.order(r, c)
	if err != nil {
		return nil, &CommandError{c, err}
	}
	e.Rollout, e.At, e.By, e.Why, e.Target = c.Rollout, now, c.By, c.Why, c.Target
	out := []Event{e}
	if c.Action == ToAbort {
		out = append(out, Event{Rollout: c.Rollout, At: now, Kind: Ended, Phase: Aborted, By: c.By, Why: c.Why})
	}
	for _, e := range out {
		s.Fold(e)
	}
	return out, nil
}

func (s *State) order(r *Rollout, c Command) (Event, error) {
	if c.Organization != "" {
		return r.orderConsent(c)
	}
	if c.Action.OfGate() {
		return r.orderGate(c)
	}
	switch c.Action {
	case ToPause:
		return only(r, Event{Kind: Paused}, Active)
	case ToResume:
		return only(r, Event{Kind: Resumed}, OnHold)
	case ToAbort:
		return only(r, Event{Kind: Breached, Reaction: Abort}, Active, OnHold, RollingBack)
	case ToRollback:
		return only(r, Event{Kind: Breached, Reaction: Rollback}, Active, OnHold)
	case ToPromote:
		return only(r, Event{Kind: Promoted}, Active)
	case ToSkip:
		return member(r, c.Target, Event{Kind: Skipped}, MemberPending, MemberGranted, MemberFailed, MemberSilent)
	case ToRetry:
		if s.skips(r, c.Target) {
			return Event{Kind: Retried}, nil
		}
		return member(r, c.Target, Event{Kind: Retried}, MemberFailed, MemberSilent)
	case ToRelease:
		if !s.keeps(r) {
			return Event{}, errors.New("nothing is held because of it")
		}
		return Event{Kind: Released}, nil
	}
	return Event{}, fmt.Errorf("there is no action %q", c.Action)
}

// member returns an event if the member is in one of the states, and the rollout has not ended.
func member(r *Rollout, id ID, e Event, states ...MemberState) (Event, error) {
	m := r.Members[id]
	if m == nil {
		return Event{}, fmt.Errorf("%s is not a member", id)
	}
	if _, err := only(r, e, Active, OnHold); err != nil {
		return Event{}, err
	}
	for _, s := range states {
		if m.State == s {
			return e, nil
		}
	}
	return Event{}, fmt.Errorf("%s is %s", id, m.State)
}

// skips reports whether an operator excluded a target in a rollout, which can be retried at any time: the
// target may have returned meanwhile, and the rollout may have ended.
func (s *State) skips(r *Rollout, id ID) bool {
	return slices.Contains(slices.Collect(maps.Values(s.skipped[id])), r.ID)
}

// orderConsent returns the event of the approval or rejection of a rollout for an organization. A user counts once on
// each path of organizations, so different users give the approvals of a path.
func (r *Rollout) orderConsent(c Command) (e Event, err error) {
	if _, err := only(r, e, Active, OnHold); err != nil {
		return e, err
	}
	if c.By == "" || c.Action != ToApprove && c.Action != ToReject {
		return e, errors.New("users approve or reject a rollout for an organization")
	}
	if v, vetoed := r.Vetoes[c.Organization]; c.Action == ToReject && vetoed {
		return e, fmt.Errorf("%s has rejected it already for %s", v.By, c.Organization)
	}
	if c.Action == ToReject {
		return Event{Kind: Vetoed, Organization: c.Organization}, nil
	}
	for path, all := range r.Consents {
		if (path.Contains(c.Organization) || c.Organization.Contains(path)) &&
			slices.ContainsFunc(all, func(a Approval) bool { return a.By == c.By }) {
			return e, fmt.Errorf("%s has approved it already for %s, and each user counts once", c.By, path)
		}
	}
	return Event{Kind: Approved, Organization: c.Organization}, nil
}
