package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// slotsOfTest grants slots and records the requests. It implements executor.Locks and executor.Slots.
type slotsOfTest struct {
	log    []string
	refuse error
	lost   chan struct{}
	during func() // called while a run waits
	names  []string
}

func (s *slotsOfTest) Acquire(_ context.Context, names []string, _ func(string)) (executor.Slots, error) {
	s.log = append(s.log, "acquire "+strings.Join(names, ","))
	if s.during != nil {
		s.during()
	}
	s.names = names
	return s, s.refuse
}

func (s *slotsOfTest) Tokens() map[string]uint64 {
	out := map[string]uint64{}
	for i, name := range s.names {
		out[name] = uint64(i + 7)
	}
	return out
}

func (s *slotsOfTest) Lost() <-chan struct{} { return s.lost }
func (s *slotsOfTest) Release()              { s.log = append(s.log, "release") }

// lockWorld is a world whose runs acquire slots from s; nil: there is no agent.
func lockWorld(t *testing.T, s *slotsOfTest) *world {
	w := newWorld(t)
	o := local.Options{Ballast: -1}
	if s != nil {
		s.lost = make(chan struct{})
		o.Locks = s
	}
	x, err := local.New(w.h, w.state, o)
	w.must(err)
	w.x = asked(t, x)
	return w
}

// TestRunNeedsSlots: a run acquires the locks of its changes before the first of them, and releases them at its end. A
// run without changes, and a plan, acquire none.
func TestRunNeedsSlots(t *testing.T) {
	s := &slotsOfTest{}
	w := lockWorld(t, s)
	ctx := context.Background()
	const list = "MKDIR /m/d lock=two lock=one\nCOPY 1 /m/d/a lock=three\nMKDIR /m/free\n"
	p, err := w.x.Plan(ctx, request(t, list))
	w.must(err)
	if note := "the run needs a slot of the locks one, three, two"; !slices.Contains(p.Notes, note) || len(s.log) > 0 {
		t.Errorf("the notes of the plan are %q, and the requests %q", p.Notes, s.log)
	}
	s.during = func() {
		if _, err := w.aside.Lstat("/m/free"); err == nil {
			t.Error("the run changed the host before it had its slots")
		}
	}
	apply := func(list, want string) {
		t.Helper()
		s.log = nil
		if _, err := w.x.Apply(ctx, request(t, list), nil, executor.Options{}, nil); err != nil {
			t.Error(err)
		}
		if got := strings.Join(s.log, "; "); got != want {
			t.Errorf("the requests are %q, want %q", got, want)
		}
	}
	apply(list, "acquire one,three,two; release")
	s.during = nil
	apply(list, "")
	apply(strings.Replace(list, "COPY 1", "COPY 2", 1), "acquire three; release")
	apply("MKDIR /m/free\n", "acquire one,three,two; release") // the applied steps need their locks too
	s.log = nil
	_, err = w.x.Rollback(ctx, executor.RollbackRequest{To: 1}, nil, executor.Options{}, nil)
	w.must(err)
	if got := strings.Join(s.log, "; "); got != "acquire one,three,two; release" {
		t.Errorf("the rollback requested %q", got)
	}
}

// observedSlots also describes locks.
type observedSlots struct{ *slotsOfTest }

func (observedSlots) Describe(_ context.Context, names []string) []string {
	return []string{"described " + strings.Join(names, ",")}
}

// TestPlanDescribesLocks: a plan describes the locks that its run needs, and acquires none. Its digest does not depend
// on the description.
func TestPlanDescribesLocks(t *testing.T) {
	s := &slotsOfTest{}
	w := newWorld(t)
	x, err := local.New(w.h, w.state, local.Options{Ballast: -1, Locks: observedSlots{s}})
	w.must(err)
	r := request(t, "MKDIR /m/d lock=two lock=one\n")
	p, err := x.Plan(t.Context(), r)
	w.must(err)
	if got := strings.Join(p.Notes, "; "); got != "the run needs a slot of the locks one, two; described one,two" {
		t.Errorf("the notes are %q", got)
	}
	digest := p.Digest()
	if p.Notes = nil; p.Digest() != digest || len(s.log) > 0 {
		t.Errorf("the digest depends on the notes, or the requests are %q", s.log)
	}
	p, err = x.Plan(t.Context(), request(t, "MKDIR /m/d\n"))
	w.must(err)
	if len(p.Notes) > 0 {
		t.Errorf("without a lock: %q", p.Notes)
	}
}

// TestLockOnlyChange: a step that only needs another lock is not a change.
func TestLockOnlyChange(t *testing.T) {
	s := &slotsOfTest{}
	w := lockWorld(t, s)
	w.apply("EXEC once mark /m/marked\n")
	w.must(w.aside.Remove("/m/marked"))
	w.apply("EXEC once mark /m/marked lock=db\n")
	if _, err := w.aside.Lstat("/m/marked"); err == nil || len(s.log) > 0 {
		t.Errorf("the command ran again: %v, %q", err, s.log)
	}
}

// TestRunWithoutSlots: without an agent, or without a slot, nothing changes. WithoutLocks permits the run.
func TestRunWithoutSlots(t *testing.T) {
	for name, s := range map[string]*slotsOfTest{"no agent": nil, "refused": {refuse: executor.ErrNoSlot}} {
		t.Run(name, func(t *testing.T) {
			w := lockWorld(t, s)
			r := request(t, "MKDIR /m/free\nMKDIR /m/d lock=db\n")
			_, err := w.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
			if _, there := w.aside.Lstat("/m/free"); !errors.Is(err, executor.ErrNoSlot) || there == nil {
				t.Errorf("the run ended with %v, and the directory exists: %v", err, there == nil)
			}
			_, err = w.x.Apply(context.Background(), r, nil, executor.Options{WithoutLocks: true}, nil)
			w.must(err)
		})
	}
}

// TestHostChangesWhileRunWaits: the run plans again after it has its slots.
func TestHostChangesWhileRunWaits(t *testing.T) {
	s := &slotsOfTest{}
	w := lockWorld(t, s)
	ctx := context.Background()
	r := request(t, "MKDIR /m/d lock=db\n")
	p, err := w.x.Plan(ctx, r)
	w.must(err)
	s.during = func() { w.mkdirs("/m/d") }
	if _, err := w.x.Apply(ctx, r, p, executor.Options{Unasked: true}, nil); !errors.Is(err, executor.ErrStale) {
		t.Errorf("the plan changed, and the run ended with %v", err)
	}
	if got := strings.Join(s.log, "; "); got != "acquire db; release" {
		t.Errorf("the requests are %q", got)
	}
}

// TestLeaseIsLost: a run whose leases cannot be renewed is stopped and restored, with each policy. Commands get the
// tokens in their environment.
func TestLeaseIsLost(t *testing.T) {
	s := &slotsOfTest{lost: make(chan struct{})}
	var env []string
	m := mem.New(mem.Options{Run: func(ctx context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		if c.Argv[0] == "revert" {
			return host.CommandResult{}, nil
		}
		env = c.Env
		close(s.lost)
		<-ctx.Done()
		return host.CommandResult{}, ctx.Err()
	}})
	x, err := local.New(m, mem.New(mem.Options{}), local.Options{Ballast: -1, Locks: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Mkdir("/m", 0o755); err != nil {
		t.Fatal(err)
	}
	rep, err := x.Apply(t.Context(), request(t,
		"MKDIR /m/d\nEXEC migrate migrate creates=/m/done env=A=1 undo=revert lock=db-main\n"), nil, executor.Options{}, nil)
	if rep == nil || rep.Outcome != journal.RolledBack ||
		!strings.Contains(fmt.Sprint(err), "the leases of the lock db-main") {
		t.Errorf("the run ended with %+v: %v", rep, err)
	}
	if _, err := m.Lstat("/m/d"); err == nil {
		t.Error("the run is not undone")
	}
	if got := strings.Join(env, " "); got != "FETTLE_LOCK_DB_MAIN_TOKEN=7 A=1" {
		t.Errorf("the environment of the command is %q", got)
	}
	if got := strings.Join(s.log, "; "); got != "acquire db-main; release" {
		t.Errorf("the requests are %q", got)
	}
}

// TestRenamedLock: a run that changes only the locks of applied steps needs no slot. Later runs need the locks of the
// last list, also for steps that they remove.
func TestRenamedLock(t *testing.T) {
	s := &slotsOfTest{}
	w := lockWorld(t, s)
	for _, c := range []struct{ list, want string }{
		{"MKDIR /m/d lock=old\nMKDIR /m/free\nMKDIR /m/e lock=gone\n", "acquire gone,old; release"},
		{"MKDIR /m/d lock=new\nMKDIR /m/free lock=added\nMKDIR /m/e\n", ""},
		{"", "acquire added,new; release"},
	} {
		s.log = nil
		if _, err := w.x.Apply(t.Context(), request(t, c.list), nil, executor.Options{}, nil); err != nil {
			t.Error(err)
		}
		if got := strings.Join(s.log, "; "); got != c.want {
			t.Errorf("the list %q requested %q, want %q", c.list, got, c.want)
		}
	}
}
