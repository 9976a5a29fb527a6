package barrier

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const start = 1_700_000_000_000 // ms since 1970

// story plays events on one barrier.
type story struct {
	State
	at       time.Duration
	restored int64
	members  []Member
}

func newStory(quorum string, members ...string) *story {
	s := &story{}
	for _, m := range members {
		s.members = append(s.members, Member{Target: m})
	}
	s.play(Event{Kind: Define, Definition: Definition{Name: "schema", Quorum: quorum, Targets: members}})
	return s
}

func (s *story) play(e Event) Answer {
	e.Restored, e.Members = s.restored, s.members
	next, a := Decide(s.State, e, start+s.at.Milliseconds())
	s.State = next
	return a
}

func (s *story) arrive(target, run string) Answer {
	return s.play(Event{Kind: Arrive, Target: target, Run: run})
}

func (s *story) absent(target string, why Absence) {
	for i := range s.members {
		if s.members[i].Target == target {
			s.members[i].Absent = why
		}
	}
}

// short describes an answer: open N, a refusal, or arrived/required.
func short(a Answer) string {
	switch {
	case a.Refused != "":
		return string(a.Refused)
	case a.Open:
		return fmt.Sprint("open ", a.Generation)
	}
	return fmt.Sprintf("%d/%d", a.Arrived, a.Required)
}

func want(t *testing.T, a Answer, want string) {
	t.Helper()
	if got := short(a); got != want {
		t.Errorf("the answer is %q; want %q", got, want)
	}
}

func TestAllMembers(t *testing.T) {
	s := newStory("all", "a", "b")
	want(t, s.arrive("a", "1"), "1/2")
	want(t, s.arrive("a", "1"), "1/2")
	want(t, s.arrive("b", "1"), "open 1")
	want(t, s.arrive("a", "1"), "open 1")
	want(t, s.arrive("b", "1"), "open 1")
	want(t, s.arrive("a", "2"), "1/2")
	want(t, s.arrive("b", "1"), "open 1") // the answer was lost
	want(t, s.arrive("b", "2"), "open 2")
}

func TestQuorum(t *testing.T) {
	for text, after := range map[string]int{"all": 5, "1": 1, "3": 3, "80%": 4, "81%": 5, "1%": 1, "100%": 5} {
		s := newStory(text, "a", "b", "c", "d", "e")
		for i, m := range []string{"a", "b", "c", "d", "e"} {
			if a := s.arrive(m, "1"); a.Open != (i+1 == after) {
				t.Errorf("quorum %s: arrival %d gets %s", text, i+1, short(a))
			} else if a.Open {
				break
			}
		}
	}
}

func TestRunReplacesRun(t *testing.T) {
	s := newStory("2", "a", "b")
	s.arrive("a", "1")
	want(t, s.arrive("a", "2"), "1/2")
	want(t, s.arrive("b", "1"), "open 1")
	want(t, s.arrive("a", "2"), "open 1")
	want(t, s.arrive("a", "1"), "1/2")
}

func TestArrivalEnds(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	s.at = ArrivalTime - time.Second
	s.arrive("a", "1")
	s.at = 2*ArrivalTime - 2*time.Second
	if a := s.play(Event{Kind: Tick}); len(a.Changes) != 0 {
		t.Errorf("a renewed arrival ended: %v", a.Changes)
	}
	s.at += time.Second
	a := s.play(Event{Kind: Tick})
	if fmt.Sprint(a.Changes) != "[{expired a 0}]" {
		t.Errorf("the changes are %v", a.Changes)
	}
	want(t, s.arrive("b", "1"), "1/2")
}

// TestLateArrival: a request to arrive has no effect after a later request of the target.
func TestLateArrival(t *testing.T) {
	s := newStory("all", "a")
	arrive := func(run string, order uint64) Answer {
		return s.play(Event{Kind: Arrive, Target: "a", Run: run, Order: order})
	}
	want(t, arrive("1", 1), "open 1")
	want(t, arrive("2", 3), "open 2")
	want(t, arrive("1", 2), "outdated")
	s = newStory("all", "a", "b")
	want(t, arrive("3", 4), "1/2")
	want(t, arrive("1", 3), "outdated")
	s.at = RenewTime
	want(t, arrive("3", 6), "1/2")
	want(t, arrive("4", 5), "outdated") // sent before the repetition
	s.play(Event{Kind: Withdraw, Target: "a", Run: "3", Order: 8})
	want(t, arrive("3", 7), "outdated")
	s.play(Event{Kind: Withdraw, Target: "a", Run: "4", Order: 10})
	want(t, arrive("4", 9), "outdated") // no earlier request of this run was known
	want(t, arrive("5", 11), "1/2")
	want(t, arrive("4", 9), "outdated")
	if len(s.Left) != 0 {
		t.Errorf("a withdrawal is kept after the next arrival: %v", s.Left)
	}
}

// TestClockJumps: an arrival ends if a hub has not seen a repetition for its time, also if its clock jumps.
func TestClockJumps(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		s.at = jump
		e := Event{Kind: Tick, Observed: map[string]time.Duration{"a": ArrivalTime - 1}}
		if a := s.play(e); len(s.Arrivals) != 1 {
			t.Errorf("after a jump of %s, the arrival ended: %v", jump, a.Changes)
		}
	}
	e := Event{Kind: Arrive, Target: "a", Run: "1", Observed: map[string]time.Duration{"a": RenewTime}}
	if a := s.play(e); len(a.Changes) != 1 || a.Changes[0].Kind != Renewed || s.Arrivals[0].Beat != 1 {
		t.Errorf("the repetition is not stored: %v", a.Changes)
	}
	if s.play(Event{Kind: Tick, Observed: map[string]time.Duration{"a": ArrivalTime}}); len(s.Arrivals) != 0 {
		t.Error("the arrival did not end")
	}
}

func TestWithdraw(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	s.play(Event{Kind: Withdraw, Target: "a", Run: "0"})
	if len(s.Arrivals) != 1 {
		t.Error("another run withdrew the arrival")
	}
	s.play(Event{Kind: Withdraw, Target: "a", Run: "1"})
	want(t, s.arrive("b", "1"), "1/2")
	want(t, s.arrive("a", "2"), "open 1")
	want(t, s.play(Event{Kind: Withdraw, Target: "b", Run: "1"}), "open 1")
}

func TestAbsentMembersDoNotCount(t *testing.T) {
	for _, why := range []Absence{Retired, Unknown, Revoked, Suspect, Frozen, Offline} {
		s := newStory("all", "a", "b")
		s.arrive("a", "1")
		s.absent("b", why)
		if a := s.play(Event{Kind: Tick}); s.Generation != 1 || fmt.Sprint(a.Changes) != "[{opened  1}]" {
			t.Errorf("%s: the barrier does not open: %v", why, a.Changes)
		}
		want(t, s.arrive("a", "1"), "open 1")
	}
	s := newStory("all", "a", "b", "c")
	for _, m := range []string{"b", "c"} {
		s.absent(m, Offline)
	}
	want(t, s.arrive("b", "1"), "1/2")
	want(t, s.arrive("a", "1"), "open 1")
}

func TestLeftMembersEnd(t *testing.T) {
	s := newStory("2", "a", "b", "c")
	s.arrive("a", "1")
	s.absent("a", Revoked)
	want(t, s.arrive("b", "1"), "1/2")
	want(t, s.arrive("a", "1"), "not_member")
	s.members = s.members[2:]
	want(t, s.arrive("c", "1"), "1/2")
}

func TestRefusals(t *testing.T) {
	s := newStory("all", "a")
	want(t, s.arrive("x", "1"), "not_member")
	s.members = nil
	want(t, s.arrive("a", "1"), "empty")
	if s.play(Event{Kind: Tick}); s.Generation != 0 {
		t.Error("a barrier without members opened")
	}
	s.members = make([]Member, MaxMembers+1)
	want(t, s.arrive("a", "1"), "too_many")
	s.members = []Member{{Target: "a"}}
	want(t, s.arrive("a", "1"), "open 1")
	s.play(Event{Kind: Undefine})
	want(t, s.arrive("a", "2"), "undeclared")
	want(t, s.arrive("a", "1"), "open 1")
	for _, a := range []Answer{{Refused: NotMember}, {Refused: Empty}, {Refused: TooMany}, {Refused: Undeclared},
		{Refused: Outdated}, {}} {
		if text := a.Explain("schema"); !strings.Contains(text, "barrier schema") {
			t.Errorf("%q does not name the barrier", text)
		}
	}
	if a := (Answer{Open: true}); a.Explain("schema") != "" {
		t.Error("an open barrier has an explanation")
	}
}

func TestUndeclared(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	s.play(Event{Kind: Undefine})
	if len(s.Arrivals) != 0 || !s.Empty(start) {
		t.Error("an undeclared barrier has arrivals")
	}
	s.play(Event{Kind: Define, Definition: s.Definition})
	s.arrive("a", "1")
	s.arrive("b", "1")
	s.play(Event{Kind: Undefine})
	if s.Empty(start) || !s.Empty(start+PassTime.Milliseconds()) {
		t.Error("the passes of an undeclared barrier are not kept for their time")
	}
}

func TestRestoredFleet(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	s.at = time.Second
	s.restored = start + 1
	want(t, s.arrive("b", "1"), "1/2")
	want(t, s.arrive("a", "1"), "open 1")
}

func TestOldPassesEnd(t *testing.T) {
	s := newStory("all", "a")
	s.arrive("a", "1")
	s.at = PassTime - time.Second
	want(t, s.arrive("a", "1"), "open 1")
	s.at += time.Second
	want(t, s.arrive("a", "1"), "open 2")
}

func TestDefinitionChanges(t *testing.T) {
	s := newStory("all", "a", "b")
	s.arrive("a", "1")
	if a := s.play(Event{Kind: Define, Definition: s.Definition}); len(a.Changes) != 0 {
		t.Errorf("the same definition has the effects %v", a.Changes)
	}
	d := s.Definition
	d.Quorum = "1"
	s.play(Event{Kind: Define, Definition: d})
	want(t, s.arrive("a", "1"), "open 1")
}

func TestCheck(t *testing.T) {
	good := Definition{Name: "x", Quorum: "all", Targets: []string{"a"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Definition){
		"name": func(d *Definition) { d.Name = "1" },
		"many": func(d *Definition) { d.Targets = make([]string, MaxMembers+1) },
		"time": func(d *Definition) { d.OfflineAfter = time.Second }, "none": func(d *Definition) { d.Quorum = "" },
		"zero": func(d *Definition) { d.Quorum = "0" }, "share": func(d *Definition) { d.Quorum = "101%" },
		"number": func(d *Definition) { d.Quorum = "1001" }, "sign": func(d *Definition) { d.Quorum = "-1" },
	} {
		d := good
		if change(&d); d.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if CheckRun("") == nil || CheckRun("a b") == nil || CheckRun(strings.Repeat("a", MaxRun+1)) == nil ||
		CheckRun("r1/wait") != nil {
		t.Error("the check of a run is wrong")
	}
}
