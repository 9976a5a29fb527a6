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

// commandWorld has an executor whose programs call run. Its commands acquire slots from s; nil: there is no agent.
func commandWorld(t *testing.T, s *slotsOfTest, run func(context.Context, host.Command) error) *local.Executor {
	t.Helper()
	o := local.Options{Ballast: -1}
	if s != nil {
		s.lost = make(chan struct{})
		o.Locks = s
	}
	m := mem.New(mem.Options{Run: func(ctx context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		return host.CommandResult{}, run(ctx, c)
	}})
	x, err := local.New(m, mem.New(mem.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestCommandNeedsSlots: the programs run with the slots of the command and their tokens. A command without locks needs
// no agent.
func TestCommandNeedsSlots(t *testing.T) {
	s := &slotsOfTest{}
	var env []string
	x := commandWorld(t, s, func(_ context.Context, c host.Command) error {
		s.log = append(s.log, c.Argv[0])
		env = c.Env
		return nil
	})
	c := executor.Command{Argv: [][]string{{"one"}, {"two"}}, Locks: []string{"b", "a"}, Env: []string{"A=1"}}
	if _, err := x.Command(t.Context(), c, executor.Options{}, nil); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.log, "; "); got != "acquire a,b; one; two; release" {
		t.Errorf("the order is %q", got)
	}
	if !slices.Contains(env, "FETTLE_LOCK_A_TOKEN=7") || !slices.Contains(env, "A=1") {
		t.Errorf("the environment is %q", env)
	}
	s.log, c.Locks = nil, nil
	_, err := x.Command(t.Context(), c, executor.Options{}, nil)
	if err != nil || strings.Join(s.log, "; ") != "one; two" {
		t.Errorf("without a lock: %q, %v", s.log, err)
	}
}

// TestCommandWithoutSlots: a command without its slots does not begin, and is not in the history. WithoutLocks permits
// it.
func TestCommandWithoutSlots(t *testing.T) {
	for name, s := range map[string]*slotsOfTest{"no agent": nil, "refused": {refuse: executor.ErrNoSlot}} {
		ran := 0
		x := commandWorld(t, s, func(context.Context, host.Command) error { ran++; return nil })
		c := executor.Command{Argv: [][]string{{"one"}}, Locks: []string{"a"}}
		res, err := x.Command(t.Context(), c, executor.Options{}, nil)
		if list, _ := x.Commands(t.Context()); !errors.Is(err, executor.ErrNoSlot) || res != nil || ran > 0 || len(list) > 0 {
			t.Errorf("%s: %v, ran %d times, the history is %v", name, err, ran, list)
		}
		if _, err := x.Command(t.Context(), c, executor.Options{WithoutLocks: true}, nil); err != nil || ran != 1 {
			t.Errorf("%s, without locks: %v, ran %d times", name, err, ran)
		}
		c.ReadOnly = true
		if _, err := x.Command(t.Context(), c, executor.Options{}, nil); err == nil {
			t.Errorf("%s: a command that changes nothing ran with a lock", name)
		}
	}
}

// TestCommandLosesLease: a command whose leases cannot be renewed is stopped, and recorded as interrupted.
func TestCommandLosesLease(t *testing.T) {
	s := &slotsOfTest{}
	x := commandWorld(t, s, func(ctx context.Context, _ host.Command) error {
		close(s.lost)
		<-ctx.Done()
		return ctx.Err()
	})
	c := executor.Command{Argv: [][]string{{"one"}, {"two"}}, Locks: []string{"a"}}
	_, err := x.Command(t.Context(), c, executor.Options{}, nil)
	if !strings.Contains(fmt.Sprint(err), "the leases of the lock a could not be renewed") {
		t.Errorf("%v", err)
	}
	list, err := x.Commands(t.Context())
	if err != nil || len(list) != 1 || list[0].Outcome != journal.Interrupted {
		t.Errorf("the history is %+v: %v", list, err)
	}
	if got := strings.Join(s.log, "; "); got != "acquire a; release" {
		t.Errorf("the requests are %q", got)
	}
}
