package hub

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// undoable returns a commit with the task publish of a universe, which has an undo.
func undoable(content string) map[string]map[string]string {
	parts := simple("one")
	parts[""]["fettle.hcl"] += fmt.Sprintf("universe \"main\" {\n  task \"publish\" {\n    command  = [\"publish\"]\n"+
		"    triggers = { n = %q }\n    undo { command = [\"withdraw\"] }\n  }\n}\n", content)
	return parts
}

// TestUndoOfHubs: a hub undoes the task of a universe that was removed, once, with the commit that declared it. A task
// that is declared again is done again.
func TestUndoOfHubs(t *testing.T) {
	universe(t, 2, func(s *sim) {
		s.site.commit("main", s.site.believed, undoable("first"))
		time.Sleep(5 * time.Minute)
		s.wantTask(t, document.TaskDone)
		s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(5 * time.Minute)
		is := s.wantTask(t, document.TaskDone)
		if n := len(s.hubTasks); !is.Undo || n != 2 || s.hubTasks["universe/main publish "+is.Digest] == 0 {
			t.Errorf("%+v, done: %v\n%s", is, s.hubTasks, s.story())
		}
		s.mu.Lock()
		clear(s.hubTasks) // the task may be done again
		s.mu.Unlock()
		s.site.commit("main", s.site.believed, undoable("first"))
		time.Sleep(5 * time.Minute)
		if is := s.wantTask(t, document.TaskDone); is.Undo || len(s.hubTasks) != 1 {
			t.Errorf("%+v, done: %v\n%s", is, s.hubTasks, s.story())
		}
	})
}

// TestKilledHubsUndo: a hub is killed before or after each operation of an undo. Then no hub undoes the task again, and
// the result is known, or a user must decide.
func TestKilledHubsUndo(t *testing.T) {
	phases := map[document.TaskPhase]int{}
	for _, after := range []bool{false, true} {
		for n, killed := int64(1), true; killed; n++ {
			t.Run(fmt.Sprintf("%v %d", after, n), func(t *testing.T) {
				universe(t, 2, func(s *sim) {
					s.site.commit("main", s.site.believed, undoable("first"))
					time.Sleep(5 * time.Minute)
					s.wantTask(t, document.TaskDone)
					s.fuse.after.Store(after)
					s.fuse.left.Store(n)
					s.site.commit("main", s.site.believed, simple("two"))
					killed = s.killed(t)
					is := s.task(t)
					phases[is.Phase]++
					_, done := s.hubTasks["universe/main publish "+is.Digest]
					switch {
					case !is.Undo:
						t.Errorf("nothing undoes the task: %+v\n%s", is, s.story())
					case is.Phase == document.TaskDone && done:
					case is.Phase == document.TaskUnknown && is.Decide:
					default:
						t.Errorf("the undo is %+v, begun %v\n%s", is, done, s.story())
					}
				})
			})
		}
	}
	t.Log(phases)
	if phases[document.TaskDone] == 0 || phases[document.TaskUnknown] == 0 {
		t.Errorf("not all phases occur: %v", phases)
	}
}
