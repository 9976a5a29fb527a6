package task

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// undoable declares a task with an undo.
func (s *story) undoable(digest string) {
	s.play(Event{Kind: Define, Scope: "cluster/x", Task: "load", Definition: Definition{Digest: digest,
		Timeout: 10 * time.Minute}, Undo: &Definition{Digest: "undo", Timeout: time.Minute}})
}

func (s *story) remove() Answer { return s.play(Event{Kind: Undefine}) }

// wantUndo compares whether the state is of an undo that has not ended.
func (s *story) wantUndo(undoing, unfinished bool) {
	s.Helper()
	if s.Undoing != undoing || s.Unfinished() != unfinished {
		s.Fatalf("undoing %v, unfinished %v: %+v", s.Undoing, s.Unfinished(), s.State)
	}
	if s.Unfinished() && s.Expired(start+1e12, time.Hour) {
		s.Fatal("a task whose undo has not ended is forgotten")
	}
}

// TestUndo: a task that was removed is undone once, and done again if it is declared again.
func TestUndo(t *testing.T) {
	s := &story{T: t}
	s.undoable("a")
	s.end(s.begin("m1"), fleet.TaskDone)
	if a := s.remove(); a.Changes[len(a.Changes)-1].Kind != UndoDue {
		t.Errorf("%+v", a.Changes)
	}
	s.want("waiting")
	s.wantUndo(true, true)
	if a := s.remove(); len(a.Changes) != 0 {
		t.Errorf("a repetition changes %+v", a.Changes)
	}
	f := s.begin("m2")
	if !s.Open.Undo || s.Open.Digest != "undo" || s.Open.Deadline != s.Open.Expires+(time.Minute+Reserve).Milliseconds() {
		t.Errorf("%+v", s.Open)
	}
	s.end(f, fleet.TaskDone)
	s.want("done")
	s.wantUndo(true, false)
	if a := s.play(Event{Kind: Begin, Target: "m1"}); a.Attempt != nil {
		t.Errorf("it is undone twice: %+v", a)
	}
	s.undoable("a")
	s.want("waiting")
	s.end(s.begin("m1"), fleet.TaskDone)
	s.remove()
	s.want("waiting")
	s.wantUndo(true, true)
}

// TestNothingToUndo: a task is not undone if no command of it began, or if a user decided that it has no effect.
func TestNothingToUndo(t *testing.T) {
	for name, prepare := range map[string]func(*story){
		"never began":   func(*story) {},
		"refused":       func(s *story) { s.end(s.begin("m1"), fleet.TaskRefused) },
		"held already":  func(s *story) { s.end(s.begin("m1"), fleet.TaskVerified) },
		"user, no undo": func(s *story) { s.end(s.begin("m1"), ""); s.play(Event{Kind: Resolve, By: "kim"}) },
		"refused late": func(s *story) {
			f := s.begin("m1")
			s.end(f, "")
			s.end(f, fleet.TaskRefused)
		},
		"no undo declared": func(s *story) { s.end(s.begin("m1"), fleet.TaskDone); s.define(Definition{Digest: "a"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{T: t}
			s.undoable("a")
			prepare(s)
			s.remove()
			s.wantUndo(false, false)
			if a := s.play(Event{Kind: Begin, Target: "m1"}); a.Refused != NoTask {
				t.Errorf("%+v", a)
			}
		})
	}
	for name, prepare := range map[string]func(*story){
		"failed":            func(s *story) { s.end(s.begin("m1"), fleet.TaskFailed) },
		"user, done":        func(s *story) { s.end(s.begin("m1"), ""); s.play(Event{Kind: Resolve, By: "kim", Done: true}) },
		"earlier content":   func(s *story) { s.end(s.begin("m1"), fleet.TaskDone); s.undoable("b") },
		"done, then a wish": func(s *story) { s.end(s.begin("m1"), fleet.TaskDone); s.play(Event{Kind: Retry, By: "kim"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{T: t}
			s.undoable("a")
			prepare(s)
			s.remove()
			s.wantUndo(true, true)
			s.want("waiting")
		})
	}
}

// TestUndoAfterAttempt: an attempt is awaited before the undo. If its result is unknown, a user decides.
func TestUndoAfterAttempt(t *testing.T) {
	s := &story{T: t}
	s.undoable("a")
	f := s.begin("m1")
	s.remove()
	s.wantUndo(false, true)
	if a := s.play(Event{Kind: Resolve, Done: true}); a.Refused != IsOpen {
		t.Errorf("%+v", a)
	}
	s.end(f, "")
	s.want("unknown ask")
	s.wantUndo(false, true)
	if a := s.play(Event{Kind: Retry}); a.Refused != NoTask {
		t.Errorf("a task that was removed is tried again: %+v", a)
	}
	before := s.State
	s.play(Event{Kind: Resolve, By: "kim"})
	s.wantUndo(false, false)
	s.State = before
	s.play(Event{Kind: Resolve, By: "kim", Done: true})
	s.wantUndo(true, true)
	s.State = before
	s.end(f, fleet.TaskRefused)
	s.wantUndo(false, false)
	s.State = before
	s.end(f, fleet.TaskDone)
	s.wantUndo(true, true)
	s.end(s.begin("m2"), fleet.TaskRefused)
	s.want("waiting")
	s.play(Event{Kind: Resolve, By: "kim", Done: true})
	s.want("done")
	s.wantUndo(true, false)
}

// TestFailedUndo: an undo that failed or is unknown needs a user.
func TestFailedUndo(t *testing.T) {
	for o, want := range map[fleet.TaskOutcome]string{fleet.TaskFailed: "failed", "": "unknown ask"} {
		s := &story{T: t}
		s.undoable("a")
		s.end(s.begin("m1"), fleet.TaskDone)
		s.remove()
		s.end(s.begin("m1"), o)
		s.want(want)
		s.wantUndo(true, true)
		before := s.State
		s.play(Event{Kind: Resolve, By: "kim"})
		s.want("failed")
		s.wantUndo(true, false)
		s.State = before
		s.play(Event{Kind: Retry, By: "kim"})
		s.end(s.begin("m2"), fleet.TaskDone)
		s.want("done")
		s.State = before
		s.undoable("a")
		s.want("unknown ask")
		s.wantUndo(false, false)
	}
}

// TestDeclaredAgain: a task is declared again before or during its undo.
func TestDeclaredAgain(t *testing.T) {
	s := &story{T: t}
	s.undoable("a")
	s.end(s.begin("m1"), fleet.TaskDone)
	s.remove()
	s.undoable("a")
	s.want("done")
	s.remove()
	f := s.begin("m1")
	s.undoable("a")
	s.want("done")
	if a := s.play(Event{Kind: Begin, Target: "m2"}); a.Attempt != nil {
		t.Errorf("it begins during the undo: %+v", a)
	}
	before := s.State
	for o, want := range map[fleet.TaskOutcome]string{fleet.TaskDone: "waiting", fleet.TaskVerified: "waiting",
		fleet.TaskRefused: "done", fleet.TaskFailed: "unknown ask", "": "unknown ask"} {
		s.State = before
		s.end(f, o)
		s.want(want)
		s.State = before
		s.remove()
		s.end(f, o)
		s.wantUndo(o == fleet.TaskRefused, want != "waiting")
	}
}

// TestLateResultsOfUndo: results that arrive after the undo do not count, and neither does a result of an undo after
// the task was done again.
func TestLateResultsOfUndo(t *testing.T) {
	s := &story{T: t}
	s.undoable("a")
	first := s.begin("m1")
	s.end(first, "")
	s.play(Event{Kind: Resolve, By: "kim", Done: true})
	s.remove()
	s.end(s.begin("m2"), fleet.TaskDone)
	s.end(first, fleet.TaskDone)
	s.want("done")
	s.undoable("a")
	s.want("waiting")
	s.end(s.begin("m1"), fleet.TaskDone)
	s.remove()
	lost := s.begin("m1")
	s.end(lost, "")
	s.undoable("a")
	s.play(Event{Kind: Retry, By: "kim"})
	s.end(s.begin("m1"), fleet.TaskDone)
	s.remove()
	s.end(lost, fleet.TaskDone)
	s.want("waiting")
	s.wantUndo(true, true)
}

// TestRestoredUndo: after a restoration, an undo can be missing, so it is unknown.
func TestRestoredUndo(t *testing.T) {
	for _, restored := range []func(*story){
		func(s *story) { s.play(Event{Kind: Undefine, Restored: start}) },
		func(s *story) { s.remove(); s.play(Event{Kind: Undefine, Restored: start}) },
		func(s *story) { s.remove(); s.begin("m1"); s.play(Event{Kind: Undefine, Restored: start}) },
	} {
		s := &story{T: t}
		s.undoable("a")
		s.end(s.begin("m1"), fleet.TaskDone)
		restored(s)
		s.want("unknown ask")
		s.wantUndo(true, true)
		if a := s.play(Event{Kind: Undefine, Restored: start}); len(a.Changes) != 0 {
			t.Errorf("a repetition changes %+v", a.Changes)
		}
	}
}
