package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
)

// fuse kills a hub at one of its operations of tasks: writes of tasks to the store and to the disk, and the command.
type fuse struct {
	left  atomic.Int64 // operations before the kill; 0: no kill
	after atomic.Bool  // kill after the operation
}

// burns reports whether the hub is killed now: before or after an operation.
func (s *sim) burns(dead *atomic.Bool, after bool) bool {
	if s.fuse.after.Load() != after || s.fuse.left.Load() == 0 || s.fuse.left.Add(-1) != 0 {
		return dead.Load()
	}
	dead.Store(true)
	return true
}

// simFiles is the disk of a hub, on which a dead process writes no attempts.
type simFiles struct {
	host.FS
	sim  *sim
	dead *atomic.Bool
}

func (f simFiles) Rename(from, to string) error {
	if !strings.HasSuffix(to, "/task-attempts.json") {
		return f.FS.Rename(from, to)
	}
	if f.dead.Load() || f.sim.burns(f.dead, false) {
		return errDead
	}
	err := f.FS.Rename(from, to)
	if f.sim.burns(f.dead, true) {
		return errDead
	}
	return err
}

// simTasks does the tasks of a hub.
type simTasks struct {
	sim  *sim
	hub  string
	dead *atomic.Bool
}

func (t simTasks) Unable() string {
	if t.sim.forbidden.Load() {
		return "tasks are not allowed on its host"
	}
	return ""
}

// Test holds the condition of each check, unless tasks are forbidden or the simulation lets them fail.
func (t simTasks) Test(context.Context, query.Probe, time.Duration) error {
	switch {
	case t.dead.Load():
		return fmt.Errorf("%w: %w", checks.ErrUntested, errDead)
	case t.sim.forbidden.Load():
		return fmt.Errorf("%w: tasks are not allowed on its host", checks.ErrUntested)
	case t.sim.failing.Load():
		return errors.New("connection refused")
	}
	return nil
}

// Do takes 20 seconds. No hub may do a task twice: its result is never a failure, and no user decides.
func (t simTasks) Do(ctx context.Context, w scopes.Work) (fleet.TaskOutcome, string) {
	key := w.Attempt.Scope + " " + w.Attempt.Task + " " + w.Attempt.Digest
	t.sim.mu.Lock()
	if t.sim.hubTasks == nil {
		t.sim.hubTasks = map[string]uint64{}
	}
	before, twice := t.sim.hubTasks[key]
	t.sim.hubTasks[key] = w.Attempt.Fence
	lost := t.sim.lost
	t.sim.mu.Unlock()
	if twice && before >= lost {
		t.sim.fault("%s does %s with the fence %d, which was done with the fence %d", t.hub, key, w.Attempt.Fence, before)
	}
	if t.dead.Load() || t.sim.burns(t.dead, false) {
		return "", ""
	}
	select {
	case <-ctx.Done():
		return "", ""
	case <-time.After(20 * time.Second):
	}
	if t.sim.burns(t.dead, true) {
		return "", ""
	}
	if t.sim.failing.Load() {
		return fleet.TaskFailed, "exit status 1"
	}
	return fleet.TaskDone, ""
}

// universal returns a commit with the task publish of a universe, with some content.
func universal(content string) map[string]map[string]string {
	parts := simple("one")
	parts[""]["fettle.hcl"] += fmt.Sprintf("universe \"main\" {\n  task \"publish\" {\n    command  = [\"publish\"]\n"+
		"    triggers = { n = %q }\n  }\n}\n", content)
	return parts
}

// universe runs a test in a fleet of hubs without targets.
func universe(t *testing.T, hubs int, job func(s *sim)) {
	inSim(t, hubs, func(s *sim) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go s.followPresence(ctx)
		job(s)
	})
}

// wantTask compares the phase of the only task.
func (s *sim) wantTask(t *testing.T, want document.TaskPhase) document.ScopeTask {
	t.Helper()
	is := s.task(t)
	if is.Phase != want {
		t.Errorf("the task is %s, want %s: %+v\n%s", is.Phase, want, is, s.story())
	}
	return is
}

// TestTaskOfHubs: a hub does the task of a universe once for each content, also without any target.
func TestTaskOfHubs(t *testing.T) {
	universe(t, 2, func(s *sim) {
		s.site.commit("main", s.site.believed, universal("first"))
		time.Sleep(5 * time.Minute)
		is := s.wantTask(t, document.TaskDone)
		if len(is.Attempts) != 1 || !is.Attempts[0].Hub || is.Attempts[0].Target != "" || is.Attempts[0].Job != "" {
			t.Errorf("%+v", is.Attempts)
		}
		x, err := scopes.Service{Of: s.any().scopes}.Scopes(context.Background())
		if err != nil || len(x) != 1 || x[0].Verdict != document.VerdictReady || !x[0].ByHubs() {
			t.Errorf("%+v, %v", x, err)
		}
		s.failing.Store(true)
		s.site.commit("main", s.site.believed, universal("second"))
		time.Sleep(5 * time.Minute)
		if is := s.wantTask(t, document.TaskFailed); is.Text != "exit status 1" {
			t.Errorf("%+v", is)
		}
		s.failing.Store(false)
		s.site.commit("main", s.site.believed, universal("first"))
		time.Sleep(5 * time.Minute)
		s.wantTask(t, document.TaskDone)
		if n := len(s.hubTasks); n != 2 {
			t.Errorf("%d contents were done: %v", n, s.hubTasks)
		}
	})
}

// checked returns a commit with a check of a universe that the leading hub tests, and a task after it.
func checked(content string) map[string]map[string]string {
	parts := simple("one")
	parts[""]["fettle.hcl"] += fmt.Sprintf("universe \"main\" {\n  check \"dns\" { tcp = \"ns1.example.org:%s\" }\n"+
		"  task \"publish\" {\n    after   = [check.dns]\n    command = [\"publish\"]\n  }\n}\n", content)
	return parts
}

// wantCheck compares the reason and the tester of the only check, on all hubs that serve. It returns the tester.
func (s *sim) wantCheck(t *testing.T, verdict document.Verdict, text string) (hub string) {
	t.Helper()
	for _, h := range s.hubs {
		serving := h.serving()
		if serving == nil {
			continue
		}
		id := route.ScopeID{Kind: "universe", Scope: "main"}
		d, err := scopes.Service{Of: serving.scopes}.Scope(context.Background(), id)
		if err != nil || len(d.Checks) != 1 || len(d.Checks[0].Testers) != 1 {
			t.Fatalf("%+v, %v\n%s", d, err, s.story())
		}
		c := d.Checks[0]
		x := c.Testers[0]
		if c.Verdict != verdict || !x.Hub || hub != "" && x.Name != hub || !strings.Contains(x.Text, text) {
			t.Errorf("%s: the check is %+v, want %s, %q\n%s", h.name, c, verdict, text, s.story())
		}
		hub = c.Testers[0].Name
	}
	return hub
}

// TestCheckOfHubs: the leading hub tests a check, and all hubs have its result. A task waits for the check. The result
// is unknown if the host of the hub allows no tasks or the commit is not signed, and another hub continues the tests.
func TestCheckOfHubs(t *testing.T) {
	universe(t, 3, func(s *sim) {
		s.failing.Store(true)
		s.site.commit("main", s.site.believed, checked("53"))
		time.Sleep(5 * time.Minute)
		s.wantCheck(t, document.VerdictFailed, "connection refused")
		if is := s.wantTask(t, document.TaskWaiting); is.Waits != "check.dns" {
			t.Errorf("it waits for %q", is.Waits)
		}
		s.failing.Store(false)
		time.Sleep(2 * time.Minute)
		s.wantCheck(t, document.VerdictReady, "")
		s.wantTask(t, document.TaskDone)
		s.forbidden.Store(true)
		time.Sleep(time.Minute)
		s.wantCheck(t, document.VerdictUnknown, "tasks are not allowed on its host")
		s.forbidden.Store(false)
		time.Sleep(time.Minute)
		s.wantCheck(t, document.VerdictReady, "")
		was := s.wantCheck(t, document.VerdictReady, "")
		for _, h := range s.hubs {
			if h.name == was {
				h.stop()
			}
		}
		time.Sleep(3 * time.Minute)
		s.failing.Store(true)
		time.Sleep(time.Minute)
		if now := s.wantCheck(t, document.VerdictFailed, "connection refused"); now == was {
			t.Errorf("%s tests while it is down", now)
		}
		s.failing.Store(false)
		s.site.commit("main", s.site.stranger, checked("54"))
		time.Sleep(5 * time.Minute)
		s.wantCheck(t, document.VerdictUnknown, "cannot trust")
	})
}

// TestForbiddenTaskOfHubs: a task waits while the host of the leading hub allows no tasks, or the commit is not signed.
func TestForbiddenTaskOfHubs(t *testing.T) {
	universe(t, 2, func(s *sim) {
		s.forbidden.Store(true)
		s.site.commit("main", s.site.believed, universal("first"))
		time.Sleep(5 * time.Minute)
		if is := s.wantTask(t, document.TaskWaiting); !strings.Contains(is.Waits, "tasks are not allowed on its host") {
			t.Errorf("it waits for %q", is.Waits)
		}
		s.forbidden.Store(false)
		time.Sleep(time.Minute)
		s.wantTask(t, document.TaskDone)
		s.site.commit("main", s.site.stranger, universal("second"))
		time.Sleep(5 * time.Minute)
		if is := s.wantTask(t, document.TaskWaiting); !strings.Contains(is.Text, "cannot trust") {
			t.Errorf("the reason is %q", is.Text)
		}
		if n := len(s.hubTasks); n != 1 {
			t.Errorf("%d contents were done: %v", n, s.hubTasks)
		}
	})
}

// TestKilledHubs: a hub is killed before or after each operation of a task. Then no hub does the task again, and its
// result is known, or a user must decide.
func TestKilledHubs(t *testing.T) {
	phases := map[document.TaskPhase]int{}
	for _, after := range []bool{false, true} {
		for n, killed := int64(1), true; killed; n++ {
			name := fmt.Sprintf("before %d", n)
			if after {
				name = fmt.Sprintf("after %d", n)
			}
			t.Run(name, func(t *testing.T) {
				universe(t, 2, func(s *sim) {
					s.site.commit("main", s.site.believed, universal("first"))
					time.Sleep(time.Minute) // the task is declared, and hubs still wait for targets
					s.fuse.after.Store(after)
					s.fuse.left.Store(n)
					killed = s.killed(t)
					is := s.task(t)
					phases[is.Phase]++
					_, done := s.hubTasks["universe/main publish "+is.Digest]
					switch {
					case is.Phase == document.TaskDone && done:
					case is.Phase == document.TaskUnknown && is.Decide:
					default:
						t.Errorf("the task is %+v, begun %v\n%s", is, done, s.story())
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

// killed waits until the task has ended, and starts a hub that was killed again. It returns whether one was.
func (s *sim) killed(t *testing.T) (killed bool) {
	for range 20 * 60 {
		time.Sleep(time.Second)
		for _, h := range s.hubs {
			if h.dead != nil && h.dead.Load() {
				killed = true
				h.stop()
				time.Sleep(10 * time.Second)
				h.start()
			}
		}
	}
	return killed
}

// TestTaskOfHubsAfterLoss: hubs that lost their data do not do a task again that they did.
func TestTaskOfHubsAfterLoss(t *testing.T) {
	inCluster(t, func(s *sim) {
		parts := clustered("first")
		parts[""]["fettle.hcl"] += "universe \"main\" {\n  task \"publish\" { command = [\"publish\"] }\n}\n"
		s.site.commit("main", s.site.believed, parts)
		time.Sleep(10 * time.Minute)
		s.restore(newShelf())
		time.Sleep(15 * time.Minute)
		all, err := scopes.Service{Of: s.any().scopes}.Tasks(context.Background())
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, is := range all {
			if is.Phase != document.TaskUnknown || !is.Decide {
				t.Errorf("%+v\n%s", is, s.story())
			}
		}
	})
}
