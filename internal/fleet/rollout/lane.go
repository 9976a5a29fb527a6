package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// RootPart is the part of an assignment that selects and describes strategies.
const RootPart = "top"

// LaneName returns the name of the lane of a branch and a strategy.
func LaneName(branch, strategy string) string { return branch + " " + strategy }

// StrategyOf returns the name of the strategy of a lane.
func StrategyOf(lane string) string {
	_, strategy, _ := strings.Cut(lane, " ")
	return strategy
}

func branchOf(lane string) string {
	branch, _, _ := strings.Cut(lane, " ")
	return branch
}

// inWaves reports whether the changes of a lane wait for rollouts.
func inWaves(lane string) bool { return lane != "" && !strings.HasSuffix(lane, " "+atOnce) }

// Lane returns the lane in force for a target whose desired content selects a lane: the recorded one until the target
// moves. It returns "" if its changes do not wait for rollouts.
func (s *State) Lane(id ID, chosen string) string {
	known := s.lanes[id]
	switch {
	case chosen == "":
		return ""
	case branchOf(known) == branchOf(chosen):
		return known
	case inWaves(chosen):
		return chosen
	}
	return ""
}

// HasLanes reports whether the lane of any target is recorded.
func (s *State) HasLanes() bool { return len(s.lanes) > 0 }

// Known reports whether the lane of a target is recorded.
func (s *State) Known(id ID) bool { return s.lanes[id] != "" }

// uses reports whether a lane is recorded for any target.
func (s *State) uses(lane string) bool {
	for _, known := range s.lanes {
		if known == lane {
			return true
		}
	}
	return false
}

// participates reports whether a target is a member of an open rollout.
func (s *State) participates(id ID) bool {
	return slices.ContainsFunc(s.Open(), func(r *Rollout) bool {
		m := r.Members[id]
		return m != nil && m.State != MemberLeft
	})
}

// passed reports whether a root part may select a lane: it is stable in a lane of the branch, or no rollout had it. It
// must not be held.
func (s *State) passed(lane, digest string) bool {
	c := Change{Part: RootPart, Digest: digest}
	if s.HeldBy(lane, c) != "" {
		return false
	}
	for other := range s.stable {
		if branchOf(other) == branchOf(lane) && s.free(other, c) {
			return true
		}
	}
	for _, r := range s.Rollouts {
		if branchOf(r.Plan.Lane) == branchOf(lane) && r.has(c) {
			return false
		}
	}
	return true
}

// foldLane applies an event about a lane.
func (s *State) foldLane(e Event) {
	switch {
	case e.Defined != nil:
		s.defined[e.Lane] = *e.Defined
	case e.Kind == Moved:
		for _, id := range e.Targets {
			if s.lanes[id] = e.Lane; !inWaves(e.Lane) {
				delete(s.lanes, id)
			}
		}
	}
}

// CatchesUp reports whether a target may have the stable content of its lane now.
func (s *State) CatchesUp(id ID) bool {
	_, ok := s.catching[id]
	return ok
}

// CatchingUp reports whether any target catches up.
func (s *State) CatchingUp() bool { return len(s.catching) > 0 }

// places returns the number of targets of a lane that take a place.
func (s *State) places(lane string, isNew bool) (n int) {
	for _, c := range s.catching {
		if c.Lane == lane && !c.Free && c.New == isNew {
			n++
		}
	}
	return n
}

// queue returns the reason why a target does not have stable content yet.
func (s *State) queue(lane string) string {
	if n := s.places(lane, false) + s.places(lane, true); n > 0 {
		return fmt.Sprintf("the content is stable, but it waits for %d other targets that catch up", n)
	}
	return "the content is stable: it is next when it can be changed, and the strategy permits it"
}

// recent returns the number of targets of a lane that began to catch up within the last minute.
func (s *State) recent(lane string, now int64) (n int) {
	for _, b := range s.begins {
		if b.Lane == lane && now-b.At < rateTime {
			n += b.Count
		}
	}
	return n
}

// foldCatchUp applies an event about targets that catch up.
func (s *State) foldCatchUp(e Event) {
	if e.Kind == CaughtUp {
		for _, id := range e.Targets {
			delete(s.catching, id)
		}
		return
	}
	for _, id := range e.Targets {
		s.catching[id] = CatchUp{Lane: e.Lane, At: e.At, New: e.New, Free: e.Lost}
	}
	if s.begins = slices.DeleteFunc(s.begins, func(b Begins) bool { return e.At-b.At >= rateTime }); !e.Lost {
		s.begins = append(s.begins, Begins{e.Lane, e.At, len(e.Targets)})
	}
}
