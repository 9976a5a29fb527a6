package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reason returns why a target does not have a change yet, for users: the rollout, its wave, and the obstacles on the
// target itself. Call it after Decide.
func (s *State) Reason(w World, id ID, c Change) string {
	target := w.Targets[id]
	c = s.addition(id, target, c)
	_, why := permits(s, id, target, c, w.texts)
	return s.obstacles(w, id, target, c, why)
}

// PermitsOrWhy is Permits for a target of the world, with the text of Reason if the change is not permitted. It is
// faster after World.Explain.
func (s *State) PermitsOrWhy(w World, id ID, c Change) (allowed bool, why string) {
	target := w.Targets[id]
	c = s.addition(id, target, c)
	if allowed, why = permits(s, id, target, c, w.texts); !allowed {
		why = s.obstacles(w, id, target, c, why)
	}
	return allowed, why
}

// obstacles adds the time limit of gates, and the obstacles on the target itself, to a reason. c is a result of
// addition.
func (s *State) obstacles(w World, id ID, t Target, c Change, why string) string {
	if names := occupants(s, w, t.Lane); names != "" && why == s.queue(t.Lane) {
		why += ": " + names
	}
	waits := func() bool { return why == s.waiting(id, t.Lane, c, w.texts) }
	if r := s.gatedFor(id, t.Lane, c); r != nil {
		if until := r.untilText(w.Up); until != "" && waits() {
			why += until
		}
	}
	if by := w.postponed[t.Lane][c]; by != "" && waits() {
		why = "it waits for the end of the rollout " + by + ", which delivers what this change requires on other targets"
	}
	if w.awaits && waits() {
		why += "; the hub waits until most targets have contact"
	}
	for _, r := range s.Open() {
		if m := r.Members[id]; len(w.Limits) > 0 && m != nil && m.State == MemberPending && r.has(c) {
			if text := w.unapproved(r, id); text != "" {
				why += "; " + text
			}
		}
	}
	if t.Hold != "" {
		why += "; it must not be changed now: " + t.Hold
	}
	if !t.Online {
		why += "; it has no contact"
	}
	return why
}

// gatedFor returns the rollout whose current wave keeps a target from a change, or nil.
func (s *State) gatedFor(id ID, lane string, c Change) *Rollout {
	for _, r := range s.Open() {
		if r.Plan.Lane != lane || !r.has(c) {
			continue
		}
		if m := r.Members[id]; m != nil && m.State != MemberLeft && m.Wave > r.Wave {
			return r
		}
		return nil
	}
	return nil
}

// occupants returns the names of some targets that take a place in a lane, for users.
func occupants(s *State, w World, lane string) string {
	var names []string
	for _, id := range sorted(s.catching) {
		if c := s.catching[id]; c.Lane == lane && !c.Free {
			names = append(names, cmp.Or(w.Targets[id].Name, string(id)))
		}
	}
	slices.Sort(names)
	if n := len(names); n > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
	}
	return strings.Join(names, ", ")
}

// maxNamed is the number of targets that a text names.
const maxNamed = 3
