package rollout

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// Fold applies an event of the log. An event about an unknown rollout has no effect.
func (s *State) Fold(e Event) {
	switch {
	case e.Kind == CatchesUp || e.Kind == CaughtUp:
		s.foldCatchUp(e)
		return
	case e.Kind == Owed || e.Kind == NotOwed:
		s.owed.fold(e)
		return
	case e.Kind == Moved || e.Kind == Defined:
		s.foldLane(e)
		return
	case e.Created == nil:
	case e.Kind == Created:
		s.create(e)
		return
	case e.Kind == Announced:
		s.announce(e)
		return
	}
	if s.present(e) {
		return
	}
	r := s.Rollouts[e.Rollout]
	switch {
	case r == nil:
	case e.Kind == Ended:
		s.end(r, e)
	case e.Kind == Released:
		s.unhold(r)
		r.released = !r.Phase.Final()
	case e.Target != "":
		r.member(e)
		s.skip(r, e)
	default:
		r.fold(e)
		if e.Kind == Breached && e.Reaction != Pause {
			s.hold(r)
		}
	}
	if r == nil {
		return
	}
	r.record(e)
	if r.Phase.Final() {
		s.ended(r.ID)
	}
}

func (s *State) create(e Event) {
	r := &Rollout{ID: e.Rollout, At: e.At, Plan: s.whole(e), Phase: Active, Began: e.At, Members: map[ID]*Member{},
		Course: newCourse(e.At)}
	for i, w := range r.Plan.Waves {
		for _, id := range w.Members {
			r.Members[id] = &Member{Wave: i, State: MemberPending}
		}
	}
	r.numbers = newTally(r.Members)
	r.index()
	s.Rollouts[r.ID] = r
	s.begun(r)
	s.next = max(s.next, number(r.ID)+1)
}

// skip remembers what an operator excluded, also after the end of the rollout.
func (s *State) skip(r *Rollout, e Event) {
	for _, c := range r.Plan.Changes {
		c.Adds = false
		switch {
		case e.Kind == Retried || e.Kind == Left:
			delete(s.skipped[e.Target], c)
		case e.Kind == Skipped && s.skipped[e.Target] == nil:
			s.skipped[e.Target] = map[Change]string{}
			fallthrough
		case e.Kind == Skipped:
			s.skipped[e.Target][c] = r.ID
		}
	}
}

func (s *State) end(r *Rollout, e Event) {
	r.Phase, r.Why = e.Phase, e.Why
	switch e.Phase {
	case Completed, WithExceptions:
		stabilize(s, r, e.Unproved)
	case Aborted:
		s.hold(r)
	}
	r.released, r.grants = false, nil // snapshots contain ended rollouts without them
}

// stabilize makes the changes of a complete rollout stable that are proved. The removal of a part does not change which
// content is stable, because other targets can have the part still.
func stabilize(s *State, r *Rollout, unproved []Change) {
	if s.stable[r.Plan.Lane] == nil {
		s.stable[r.Plan.Lane] = map[string]string{}
	}
	for _, c := range r.Plan.Changes {
		if slices.Contains(unproved, c) {
			continue
		}
		if c.Digest != "" {
			s.stable[r.Plan.Lane][c.Part] = c.Digest
		}
		delete(s.held, place{r.Plan.Lane, c})
	}
}

// fold applies an event about the whole rollout.
func (r *Rollout) fold(e Event) {
	switch e.Kind {
	case Settled:
		r.Settled = e.At
		r.Period++
		delete(r.Verdicts, r.Wave)
	case Unsettled:
		r.Settled = 0
		r.Period++
		delete(r.Verdicts, r.Wave)
	case Advanced:
		r.Period++
		r.Wave, r.Began, r.Settled, r.promoted, r.accepted = e.Wave, e.At, 0, false, false
	case Promoted:
		r.promoted = true
	case Paused:
		r.Phase, r.Why, r.By = OnHold, e.Why, e.By
		r.verdict(e)
	case Resumed:
		r.Phase, r.Why, r.By, r.resumed = Active, "", "", e.At
		r.forgive()
		r.accepted, r.forgiven = true, r.failed()+r.count(allWaves, MemberSilent)
		for _, m := range r.Members {
			m.forgiven = m.State == MemberFailed || m.State == MemberSilent
		}
	case Unwanted, Wanted:
		r.Unwanted = e.Kind == Unwanted
	case Vetoed:
		r.veto(e)
	case Approved, Expired, Rejected, Measured:
		if e.Organization != "" {
			r.consent(e)
			return
		}
		r.verdict(e)
	case Breached:
		r.Why, r.Stopped = e.Why, e.At
		r.Phase = map[Reaction]Phase{Pause: OnHold, Abort: Aborted, Rollback: RollingBack}[e.Reaction]
	}
}

// member applies an event about one member.
func (r *Rollout) member(e Event) {
	r.numbers.add(r.Members[e.Target], -1)
	if e.Kind == Joined {
		r.Members[e.Target] = &Member{Wave: e.Wave, State: MemberPending}
	} else if m := r.Members[e.Target]; m != nil {
		r.change(m, e)
	}
	r.numbers.add(r.Members[e.Target], 1)
}

// change applies an event to a member.
func (r *Rollout) change(m *Member, e Event) {
	m.Why = e.Why
	switch e.Kind {
	case Granted:
		m.State, m.Granted, m.Lost, m.forgiven = MemberGranted, e.At, e.Lost, false
		r.grants = append(slices.DeleteFunc(r.grants, func(at int64) bool { return e.At-at >= rateTime }), e.At)
		if m.Before == nil {
			m.Before = e.Before
		}
	case Recovered:
		m.State, m.Granted = MemberGranted, e.At
	case Retried:
		m.State, m.Granted = MemberPending, 0
	case Ready:
		m.State, m.Lost = MemberReady, false
	default:
		m.State = map[Kind]MemberState{Left: MemberLeft, Failed: MemberFailed, Silent: MemberSilent,
			Skipped: MemberSkipped, Returned: MemberReturned}[e.Kind]
	}
}

// present applies an event about the contact with a target, and reports whether it is one.
func (s *State) present(e Event) bool {
	switch e.Kind {
	case Away:
		s.away[e.Target] = true
	case Back:
		delete(s.away, e.Target)
	default:
		return false
	}
	return true
}

// announce adds a piece. The first piece replaces the pieces that a hub did not complete.
func (s *State) announce(e Event) {
	if e.Created.Piece == 1 {
		s.announced = announced{rollout: e.Rollout}
	}
	s.announced.add(e)
}

// whole returns the plan of a created event with the members of its pieces.
func (s *State) whole(e Event) Plan {
	plan := *e.Created
	if plan.Piece > 1 {
		s.announced.add(e)
		plan.Waves = s.announced.waves
	}
	s.announced, plan.Piece = announced{}, 0
	return plan
}

// record adds the numbers after an event.
func (r *Rollout) record(e Event) {
	c := r.Course
	if c == nil {
		return
	}
	last := c.Samples[len(c.Samples)-1]
	at := max(e.At, last.At) // the clock of the hub can be set back
	switch e.Kind {
	case Advanced, Paused, Resumed, Breached, Ended:
		c.Marks = append(c.Marks, Mark{At: at, Kind: e.Kind, Wave: r.Wave, Phase: r.Phase})
		c.Marks = c.Marks[max(0, len(c.Marks)-mostMarks):]
	}
	now := Sample{At: at, Ready: r.count(allWaves, MemberReady),
		Failed: r.count(allWaves, MemberFailed, MemberSilent)}
	now.Granted = r.count(allWaves, MemberGranted) + now.Ready + now.Failed
	if last.Granted != now.Granted || last.Ready != now.Ready || last.Failed != now.Failed || e.Kind == Ended {
		c.add(now)
	}
}

// consent notes the approval of a user for an organization.
func (r *Rollout) consent(e Event) {
	if r.Consents == nil {
		r.Consents = map[fleet.Organization][]Approval{}
	}
	r.Consents[e.Organization] = append(r.Consents[e.Organization], Approval{e.By, e.At})
	delete(r.Vetoes, e.Organization)
}

// veto notes the rejection of a user for an organization. Approvals for it begin again.
func (r *Rollout) veto(e Event) {
	if r.Vetoes == nil {
		r.Vetoes = map[fleet.Organization]Veto{}
	}
	r.Vetoes[e.Organization] = Veto{e.By, e.At, e.Why}
	delete(r.Consents, e.Organization)
}
