package task

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

const start = 1_700_000_000_000 // ms since 1970

// story plays events on one task.
type story struct {
	State
	*testing.T
	at time.Duration
}

func newStory(t *testing.T, d Definition) *story {
	s := &story{T: t}
	s.define(d)
	return s
}

func (s *story) define(d Definition) Answer {
	d.Timeout = 10 * time.Minute
	return s.play(Event{Kind: Define, Scope: "cluster/x", Task: "load", Definition: d})
}

func (s *story) play(e Event) Answer {
	next, a := Decide(s.State, e, start+s.at.Milliseconds())
	s.State = next
	return a
}

// begin begins an attempt and returns its fence.
func (s *story) begin(target string) uint64 {
	s.Helper()
	a := s.play(Event{Kind: Begin, Target: target, Limit: time.Minute})
	if a.Attempt == nil {
		s.Fatalf("no attempt begins: %s, %+v", a.Refused, s.State)
	}
	return a.Attempt.Fence
}

func (s *story) end(fence uint64, o fleet.TaskOutcome) Answer {
	return s.play(Event{Kind: End, Fence: fence, Outcome: o, Text: "why"})
}

// want compares the phase, with "ask" after it if a user must decide.
func (s *story) want(want string) {
	s.Helper()
	got := string(s.Phase())
	if s.Instance().Ask {
		got += " ask"
	}
	if got != want {
		s.Fatalf("the task is %s; want %s: %+v", got, want, s.State)
	}
}

func (s *story) wantDue(after time.Duration, verifyOnly bool) {
	s.Helper()
	due, at, only := s.Due(start+s.at.Milliseconds(), true)
	if wait := at - start - s.at.Milliseconds(); due != (after <= 0) || only != verifyOnly ||
		!due && wait != after.Milliseconds() {
		s.Fatalf("due %v in %d ms, verify only %v", due, wait, only)
	}
}

func TestDoneOnce(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	s.want("waiting")
	f := s.begin("m1")
	s.want("claimed")
	if a := s.play(Event{Kind: Begin, Target: "m2"}); a.Refused != IsOpen {
		t.Errorf("a second attempt: %+v", a)
	}
	s.play(Event{Kind: Accept, Fence: f})
	s.want("running")
	s.end(f, fleet.TaskDone)
	s.want("done")
	if a := s.end(f, fleet.TaskFailed); len(a.Changes) != 0 {
		t.Errorf("a repeated result changes %v", a.Changes)
	}
	if a := s.play(Event{Kind: Begin, Target: "m1"}); a.Refused != NotDue {
		t.Errorf("a task that is done begins: %+v", a)
	}
	s.define(Definition{Digest: "b"})
	s.want("waiting")
	if g := s.begin("m1"); g <= f {
		t.Errorf("the fence %d follows %d", g, f)
	}
	s.define(Definition{Digest: "a"})
	s.want("done")
}

func TestRetries(t *testing.T) {
	s := newStory(t, Definition{Digest: "a", Retries: 1, RetryAfter: time.Minute})
	s.end(s.begin("m1"), fleet.TaskFailed)
	s.want("waiting")
	s.wantDue(time.Minute, false)
	s.at += time.Minute
	s.end(s.begin("m1"), fleet.TaskFailed)
	s.want("failed")
	if a := s.play(Event{Kind: Retry, By: "kim", Text: "fixed"}); a.Refused != "" {
		t.Error(a)
	}
	s.end(s.begin("m1"), fleet.TaskVerified)
	s.want("done")
}

// TestRefused: a refusal is no failure, and the pause grows.
func TestRefused(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	for _, pause := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		s.end(s.begin("m1"), fleet.TaskRefused)
		s.want("waiting")
		s.wantDue(pause*time.Second, false)
		s.at += pause * time.Second
	}
	s.end(s.begin("m1"), fleet.TaskDone)
	s.want("done")
}

// TestLost: an attempt without a result is unknown after its deadline, and the declaration decides what follows.
func TestLost(t *testing.T) {
	for want, d := range map[string]Definition{"unknown ask": {OnUnknown: Ask},
		"unknown": {OnUnknown: Verify, Verifiable: true},
		"waiting": {OnUnknown: RetryAgain}} {
		d.Digest = "a"
		s := newStory(t, d)
		f := s.begin("m1")
		s.at += time.Minute + 10*time.Minute + Reserve - time.Millisecond
		s.play(Event{Kind: Tick})
		s.want("claimed")
		s.at += time.Millisecond
		s.play(Event{Kind: Tick})
		s.want(want)
		s.end(f, fleet.TaskDone)
		s.want("done")
	}
	s := newStory(t, Definition{Digest: "a", OnUnknown: Verify})
	s.end(s.begin("m1"), "")
	s.want("unknown ask")
}

func TestVerification(t *testing.T) {
	for o, want := range map[fleet.TaskOutcome]string{fleet.TaskVerified: "done", fleet.TaskNotDone: "unknown ask",
		fleet.TaskFailed: "unknown ask", fleet.TaskRefused: "unknown", "": "unknown"} {
		s := newStory(t, Definition{Digest: "a", OnUnknown: Verify, Verifiable: true})
		s.end(s.begin("m1"), "")
		s.wantDue(FirstPause, true)
		s.at += FirstPause
		s.end(s.begin("m2"), o)
		s.want(want)
	}
	s := newStory(t, Definition{Digest: "a", OnUnknown: Verify, Verifiable: true})
	for range MaxLost {
		s.end(s.begin("m1"), "")
		s.want("unknown")
		s.at += time.Hour
	}
	s.end(s.begin("m1"), "")
	s.want("unknown ask")
}

// TestLateRefusal: a target that was offline says that it never began.
func TestLateRefusal(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	f := s.begin("m1")
	s.at += time.Hour
	s.play(Event{Kind: Tick})
	s.want("unknown ask")
	s.end(f, fleet.TaskRefused)
	s.want("waiting")
}

// TestContentChanges: the old attempt is awaited before the new content begins.
func TestContentChanges(t *testing.T) {
	for _, o := range []fleet.TaskOutcome{fleet.TaskDone, fleet.TaskFailed, fleet.TaskRefused, ""} {
		s := newStory(t, Definition{Digest: "a", Retries: 5})
		f := s.begin("m1")
		s.define(Definition{Digest: "b"})
		s.want("waiting")
		if a := s.play(Event{Kind: Begin, Target: "m2"}); a.Refused != IsOpen {
			t.Errorf("the new content begins: %+v", a)
		}
		s.end(f, o)
		s.want("waiting")
		s.end(s.begin("m2"), fleet.TaskDone)
		s.want("done")
		s.define(Definition{Digest: "a"})
		s.want(map[fleet.TaskOutcome]string{fleet.TaskDone: "done", fleet.TaskFailed: "failed",
			fleet.TaskRefused: "waiting", "": "unknown ask"}[o])
	}
}

func TestDecisionsOfUsers(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	if a := s.play(Event{Kind: Resolve, Done: true}); a.Refused != NoResult {
		t.Errorf("a waiting task is resolved: %+v", a)
	}
	f := s.begin("m1")
	if a := s.play(Event{Kind: Retry}); a.Refused != IsOpen {
		t.Errorf("an open attempt is retried: %+v", a)
	}
	s.end(f, "")
	s.play(Event{Kind: Resolve, By: "kim", Text: "I looked"})
	s.want("failed")
	s.play(Event{Kind: Resolve, By: "kim", Done: true})
	s.want("done")
	if s.Instance().By != "kim" {
		t.Errorf("%+v", s.Instance())
	}
	s.play(Event{Kind: Retry, By: "kim"})
	s.want("waiting")
	s.play(Event{Kind: Undefine})
	for _, k := range []EventKind{Retry, Resolve, Begin} {
		if a := s.play(Event{Kind: k}); a.Refused != NoTask {
			t.Errorf("%s of an undeclared task: %+v", k, a)
		}
	}
}

func TestUndeclared(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	f := s.begin("m1")
	s.play(Event{Kind: Undefine})
	if s.at = time.Hour; s.Expired(start+s.at.Milliseconds(), time.Minute) {
		t.Error("a task with an open attempt is forgotten")
	}
	s.end(f, fleet.TaskDone)
	if !s.Expired(start+s.at.Milliseconds(), time.Hour) || s.Expired(start+s.at.Milliseconds()-1, time.Hour) {
		t.Error("an undeclared task is not kept for the time")
	}
	s.define(Definition{Digest: "a"})
	s.want("done")
}

// TestRestored: after a restoration, attempts can be missing.
func TestRestored(t *testing.T) {
	restored := func(s *story) Answer {
		return s.play(Event{Kind: Define, Scope: s.Scope, Task: s.Task, Definition: s.Definition, Restored: start})
	}
	s := newStory(t, Definition{Digest: "a"})
	restored(s)
	s.want("unknown ask")
	s.play(Event{Kind: Resolve, Done: true})
	restored(s)
	s.want("done")
	s = newStory(t, Definition{Digest: "a"})
	s.begin("m1")
	restored(s)
	s.want("unknown ask")
	s = &story{T: t}
	s.play(Event{Kind: Define, Definition: Definition{Digest: "a"}, Restored: start})
	s.play(Event{Kind: Define, Definition: Definition{Digest: "a"}, Restored: start})
	s.want("waiting")
	s = &story{T: t}
	s.play(Event{Kind: Define, Definition: Definition{Digest: "a"}, Restored: start, Missing: true})
	s.want("unknown ask")
}

// TestOtherEffectOfLoss: a commit can change what follows an unknown result.
func TestOtherEffectOfLoss(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	s.end(s.begin("m1"), "")
	s.want("unknown ask")
	s.define(Definition{Digest: "a", OnUnknown: Verify, Verifiable: true})
	s.want("unknown")
	s.define(Definition{Digest: "a", OnUnknown: Ask, Verifiable: true})
	s.want("unknown ask")
	s.define(Definition{Digest: "a", OnUnknown: RetryAgain})
	s.want("waiting")
}

// TestHistoryIsBounded: old attempts and instances are forgotten, and texts are limited.
func TestHistoryIsBounded(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	for i := range 2 * MaxInstances {
		s.define(Definition{Digest: fmt.Sprint(i)})
		s.play(Event{Kind: End, Fence: s.begin("m1"), Outcome: fleet.TaskDone, Text: strings.Repeat("ä", MaxText)})
	}
	if len(s.Instances) != MaxInstances || len(s.Attempts) != MaxAttempts || len(s.Attempts[0].Text) > MaxText {
		t.Errorf("%d instances, %d attempts", len(s.Instances), len(s.Attempts))
	}
	s.want("done")
}

// TestHold: the reason for which a task waits is stored once, and only while it could begin.
func TestHold(t *testing.T) {
	s := newStory(t, Definition{Digest: "a"})
	hold := Event{Kind: Hold, Text: "tasks are not allowed"}
	if a := s.play(hold); len(a.Changes) != 1 || a.Changes[0].Kind != Held || s.Instance().Text != hold.Text {
		t.Errorf("%+v, %+v", a, s.State)
	}
	if a := s.play(hold); len(a.Changes) != 0 {
		t.Errorf("a repetition changes %+v", a.Changes)
	}
	s.want("waiting")
	a := s.play(Event{Kind: Begin, Name: "hub1", Hub: true, Limit: time.Minute})
	if a.Attempt == nil || !a.Attempt.Hub || a.Attempt.Executor() != "hub" {
		t.Fatalf("%+v", a)
	}
	if a := s.play(hold); a.Refused != NotDue {
		t.Errorf("an open attempt is held: %+v", a)
	}
	s.end(a.Attempt.Fence, fleet.TaskDone)
	if a := s.play(hold); a.Refused != NotDue {
		t.Errorf("a task that is done is held: %+v", a)
	}
	s.want("done")
}
