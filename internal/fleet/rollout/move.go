package rollout

import (
	"slices"
)

// move records the lanes of targets, and changes their lanes in the world.
func (t *turn) move() {
	first, changed := map[string][]ID{}, map[string][]ID{}
	for _, id := range t.targets {
		target := t.w.Targets[id]
		switch known := t.s.lanes[id]; {
		case target.Chosen == known || target.Chosen == "":
		case known == "" && inWaves(target.Chosen):
			first[target.Chosen] = append(first[target.Chosen], id)
		case known != "" && t.moves(id, target, known):
			changed[target.Chosen] = append(changed[target.Chosen], id)
		}
	}
	t.record(first, "")
	t.record(changed, "they have the content that selects it")
}

// moves reports whether a target leaves its recorded lane: it has its whole desired content, its root part has passed a
// rollout, and no rollout is judging it.
func (t *turn) moves(id ID, target Target, known string) bool {
	switch {
	case branchOf(known) != branchOf(target.Chosen), target.New:
		return true
	case len(target.Wants) > 0:
		return false
	}
	return !t.s.participates(id) && !t.s.CatchesUp(id) && t.s.passed(known, t.w.Has(id, RootPart))
}

// forget removes the lanes of targets that are not active any more.
func (t *turn) forget() {
	var gone []ID
	for id := range t.s.lanes {
		if _, ok := t.w.Targets[id]; !ok {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	t.record(map[string][]ID{"": gone}, "")
}

// record notes the new lanes of targets.
func (t *turn) record(lanes map[string][]ID, why string) {
	for _, lane := range sortedLanes(lanes) {
		for ids := range slices.Chunk(lanes[lane], PieceSize) {
			t.note(Event{Kind: Moved, Lane: lane, Targets: ids, Why: why})
		}
		for _, id := range lanes[lane] {
			if target, ok := t.w.Targets[id]; ok {
				if target.Lane = t.s.Lane(id, target.Chosen); target.Lane == "" {
					target.Wants = nil // it gets them at once
				}
				t.w.Targets[id] = target
			}
		}
	}
}

// strategy returns the strategy for a new rollout of a lane: the declaration of the newest commit, or the recorded one
// if this commit does not declare it any more.
func (t *turn) strategy(lane string, changes []Change) Strategy {
	if d, known := t.s.defined[lane]; known && !t.w.declares(lane) {
		return d.strategy()
	}
	s := t.w.Strategy(lane, changes)
	t.define(lane, s)
	return s
}

// define records the strategy of a lane, if it differs from the recorded one.
func (t *turn) define(lane string, s Strategy) {
	d := define(s)
	if was, known := t.s.defined[lane]; t.s.uses(lane) && t.w.declares(lane) && (!known || !was.same(d)) {
		t.note(Event{Kind: Defined, Lane: lane, Defined: &d})
	}
}

// defineNew records the strategies of lanes that have none yet.
func (t *turn) defineNew() {
	lanes := map[string]bool{}
	for _, lane := range t.s.lanes {
		lanes[lane] = true
	}
	for _, lane := range sortedLanes(lanes) {
		if _, known := t.s.defined[lane]; !known && t.w.declares(lane) {
			t.define(lane, t.w.Strategy(lane, nil))
		}
	}
}

// catchUp permits stable content to targets that lack it, for example because they had no contact. The strategy of
// their lane limits how many of them may be unavailable at the same time.
func (t *turn) catchUp() {
	t.caughtUp()
	waiting := map[string][]ID{}
	for _, id := range t.targets {
		if target := t.w.Targets[id]; len(target.Wants) > 0 && !t.s.CatchesUp(id) && t.changeable(id) &&
			t.lacksStable(id, target) && len(t.s.Returns(id)) == 0 {
			waiting[target.Lane] = append(waiting[target.Lane], id)
		}
	}
	for _, lane := range sortedLanes(waiting) {
		t.admit(lane, waiting[lane])
	}
}

// admit lets as many targets of a lane catch up as the limits permit. New targets were not available before, so they
// have places of their own. A new target that is frozen takes no place, because it does not become ready.
func (t *turn) admit(lane string, waiting []ID) {
	s := t.strategy(lane, nil)
	most := t.atOnce(lane, s)
	rate := len(waiting)
	if s.Rate > 0 {
		rate = s.Rate - t.s.recent(lane, t.now)
	}
	places := map[bool]int{false: most - t.s.places(lane, false), true: most - t.s.places(lane, true)}
	var free []ID
	incomplete := t.s.incomplete(lane)
	begin := map[bool][]ID{}
	within := organizationsOf(t)
	for _, id := range waiting {
		target := t.w.Targets[id]
		switch {
		case target.New && target.Frozen, t.repairs(target, id, incomplete):
			free = append(free, id)
		case places[target.New] > 0 && rate > 0 && (target.New || within.full(t, id) == ""):
			if !target.New {
				within.count(t, id, true)
			}
			begin[target.New] = append(begin[target.New], id)
			places[target.New]--
			rate--
		}
	}
	t.begin(Event{Lane: lane, Lost: true}, free)
	t.begin(Event{Lane: lane}, begin[false])
	t.begin(Event{Lane: lane, New: true}, begin[true])
}

func (t *turn) begin(e Event, ids []ID) {
	for some := range slices.Chunk(ids, PieceSize) {
		e.Kind, e.Targets = CatchesUp, some
		t.note(e)
	}
}

// atOnce returns the number of targets of a lane that may catch up at the same time.
func (t *turn) atOnce(lane string, s Strategy) int {
	n := 0
	for _, target := range t.w.Targets {
		n += one(target.Lane == lane)
	}
	if len(s.Waves) == 0 {
		return n
	}
	return limit(s.Waves[len(s.Waves)-1].MaxUnavailable, n)
}

// lacksStable reports whether a target lacks stable content, and has no other reason to wait. A new target, and
// one to which the part is owed, also use older stable content while a rollout delivers the desired one.
func (t *turn) lacksStable(id ID, target Target) bool {
	return slices.ContainsFunc(target.Wants, func(c Change) bool {
		digest, known := t.s.Stable(target.Lane, c.Part)
		joins := target.New || t.s.IsOwed(id, c.Part)
		return (t.s.free(target.Lane, c) || joins && !c.Adds && known && digest != "") &&
			target.depends(c) == "" && t.s.skipped.by(id, c) == "" && !t.s.Granted(id, c) &&
			!requiring{t.s, id, target}.unstable(c)
	})
}

// repairs reports whether no limit keeps stable content from a target: it has failed, or has content of a rollout that
// was not complete. A commit that restores the stable content must reach it at once.
func (t *turn) repairs(target Target, id ID, incomplete map[Change]bool) bool {
	if target.Health == Broken {
		return true
	}
	return slices.ContainsFunc(target.Wants, func(c Change) bool {
		return t.s.free(target.Lane, c) && incomplete[Change{Part: c.Part, Digest: t.w.Has(id, c.Part)}]
	})
}

// incomplete returns the changes of the rollouts of a lane that are not complete.
func (s *State) incomplete(lane string) map[Change]bool {
	out := map[Change]bool{}
	for _, r := range s.Rollouts {
		if r.Plan.Lane != lane || r.Phase == Completed || r.Phase == WithExceptions {
			continue
		}
		for _, c := range r.Plan.Changes {
			out[c] = c.Digest != ""
		}
	}
	return out
}

// caughtUp ends the permissions that targets do not need any more. A target that does not become ready in time keeps
// its permission without a place, so it does not keep others from their content.
func (t *turn) caughtUp() {
	ended, late := map[string][]ID{}, map[string][]ID{}
	strategies := map[string]Strategy{}
	for _, id := range sorted(t.s.catching) {
		c := t.s.catching[id]
		s, known := strategies[c.Lane]
		if !known {
			s = t.strategy(c.Lane, nil)
			strategies[c.Lane] = s
		}
		switch is, why := t.progress(id, c, s); is {
		case over:
			ended[why] = append(ended[why], id)
		case tooLate:
			late[c.Lane] = append(late[c.Lane], id)
		}
	}
	for _, why := range sortedLanes(ended) {
		for some := range slices.Chunk(ended[why], PieceSize) {
			t.note(Event{Kind: CaughtUp, Targets: some, Why: why})
		}
	}
	for _, lane := range sortedLanes(late) {
		t.begin(Event{Lane: lane, Lost: true}, late[lane])
	}
}

// stage is the progress of a target that catches up.
type stage int

const (
	underway stage = iota
	over
	tooLate
)

// progress returns the progress of a target that catches up. why is the reason why it did not become ready.
func (t *turn) progress(id ID, c CatchUp, s Strategy) (is stage, why string) {
	target, ok := t.w.Targets[id]
	lacks := t.lacksStable(id, target)
	switch {
	case !ok || target.Lane != c.Lane, lacks && !t.changeable(id), !lacks && c.Free:
		return over, ""
	case lacks && !c.Free && t.now-c.At >= s.ProgressDeadline:
		return tooLate, ""
	case lacks:
		return underway, ""
	case target.Health == Healthy:
		return over, ""
	case target.Health == Broken:
		return over, "failed"
	case t.w.silentFor(target, c.At, t.now) >= s.SilentAfter:
		return over, "have no contact"
	case t.now-c.At >= s.ProgressDeadline:
		return over, "are not ready in time"
	}
	return underway, ""
}

// Behind returns the targets without contact that lack stable content, sorted, and whether others wait for it or catch
// up. Call it after Decide.
func (s *State) Behind(w World) (away []ID, waiting bool) {
	t := newTurn(s, w, 0)
	waiting = s.CatchingUp()
	for _, id := range t.targets {
		target := w.Targets[id]
		switch {
		case len(target.Wants) == 0 || s.CatchesUp(id) || !t.lacksStable(id, target):
		case !target.Online:
			away = append(away, id)
		case target.Hold == "":
			waiting = true
		}
	}
	return away, waiting
}
