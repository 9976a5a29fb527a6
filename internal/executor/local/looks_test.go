package local_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// badLooks is a machine, or a state directory, of which one look fails.
type badLooks struct {
	*mem.Host
	l *fault.Looks
}

func newBadLooks(h *mem.Host) *badLooks { return &badLooks{h, &fault.Looks{FS: h}} }

func (b *badLooks) Lstat(p string) (host.Stat, error)          { return b.l.Lstat(p) }
func (b *badLooks) ReadDir(p string) ([]string, error)         { return b.l.ReadDir(p) }
func (b *badLooks) Readlink(p string) (string, error)          { return b.l.Readlink(p) }
func (b *badLooks) Xattrs(p string) (map[string][]byte, error) { return b.l.Xattrs(p) }
func (b *badLooks) Attrs(p string) (uint32, error)             { return b.l.Attrs(p) }
func (b *badLooks) SameMount(p string) (bool, error)           { return b.l.SameMount(p) }
func (b *badLooks) Open(p string) (host.File, error)           { return b.l.Open(p) }
func (b *badLooks) OpenWrite(p string) (host.File, error)      { return b.l.OpenWrite(p) }
func (b *badLooks) OpenNode(p string) (host.Node, error)       { return b.l.OpenNode(p) }

// pair is a machine and its state directory, of which either can fail to be read.
type pair struct{ h, st *badLooks }

func (p pair) copy() pair {
	rng := rand.New(rand.NewPCG(1, 1))
	return pair{newBadLooks(p.h.Host.Crash(rng)), newBadLooks(p.st.Host.Crash(rng))}
}

func (p pair) engine(t *testing.T) *local.Executor {
	t.Helper()
	x, err := local.New(p.h, p.st, local.Options{Ballast: -1, Guard: guarded})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// listOne and listTwo have every kind of thing that a look is about.
const (
	listOne = "MKDIR /m/d purge=true\nCOPY 1 /m/d/a\nLINK a /m/d/l\nEDIT /m/e line=one create=true\nMETA /m/.keep mode=0600\nUSER u1 uid=1700\nMEMBER u1 www\nPKG p1\nUNIT s1.service active=true\n"
	listTwo = "MKDIR /m/d mode=0700\nCOPY 2 /m/d/a\nCOPY 1 /m/d/b\nRM /m/old\nEDIT /m/e line=two create=true\nUSER u1 uid=1700\nEXEC mark mark /m/marked creates=/m/marked undo=\"unmark /m/marked\"\n"
)

// lookWorld is a machine with two runs behind it, and drift.
func lookWorld(t *testing.T) pair {
	t.Helper()
	w := newWorld(t)
	w.write("/m/old", "old\n")
	w.apply(listOne)
	w.apply(listTwo)
	w.write("/m/d/b", "drifted\n")
	w.must(errors.Join(w.aside.SyncFS("/"), w.state.SyncFS("/")))
	return pair{newBadLooks(w.aside.(*mem.Host)), newBadLooks(w.state.(*mem.Host))}
}

func (w *world) apply(list string) {
	w.t.Helper()
	_, err := w.x.Apply(context.Background(), request(w.t, list), nil, executor.Options{}, nil)
	w.must(err)
}

// questions are what can be asked of an engine, each with its answer in a line.
// Those that change something are among them.
func questions(t *testing.T) map[string]func(x *local.Executor) (string, error) {
	ctx := context.Background()
	said := func(rep *executor.Report, err error) (string, error) {
		if rep == nil {
			return "", err
		}
		return fmt.Sprint(rep.Outcome, rep.Changed), err
	}
	return map[string]func(x *local.Executor) (string, error){
		"status": func(x *local.Executor) (string, error) {
			s, err := x.Status(ctx)
			return fmt.Sprint(s.State.Run, s.Unfinished), err
		},
		"show": func(x *local.Executor) (string, error) {
			s, err := x.Show(ctx, 2)
			return fmt.Sprint(len(s.Invocations)), err
		},
		"run of": func(x *local.Executor) (string, error) {
			run, ok, err := x.RunOf(ctx, "none")
			return fmt.Sprint(run, ok), err
		},
		"list": func(x *local.Executor) (string, error) { l, err := x.List(ctx, 1); return fmt.Sprint(len(l)), err },
		"plan": func(x *local.Executor) (string, error) {
			r := request(t, listOne)
			r.Diffs = true
			p, err := x.Plan(ctx, r)
			return actions(p), err
		},
		"plan of a rollback": func(x *local.Executor) (string, error) {
			p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: 1, Diffs: true})
			return actions(p), err
		},
		"apply": func(x *local.Executor) (string, error) {
			return said(x.Apply(ctx, request(t, listOne), nil, executor.Options{}, nil))
		},
		"rollback": func(x *local.Executor) (string, error) {
			return said(x.Rollback(ctx, executor.RollbackRequest{To: 1}, nil, executor.Options{}, nil))
		},
		"armed": func(x *local.Executor) (string, error) {
			return said(x.Apply(ctx, request(t, listOne), nil, executor.Options{ConfirmWithin: 1 << 40}, nil))
		},
		"confirm": func(x *local.Executor) (string, error) {
			_, err := x.Confirm(ctx, executor.Options{})
			return "", hide(err, "no run waits")
		},
		"freeze": func(x *local.Executor) (string, error) {
			return "", errors.Join(x.Freeze(ctx, journal.Frozen{By: "ann"}, executor.Options{}),
				x.Unfreeze(ctx, executor.Options{}))
		},
		"recover": func(x *local.Executor) (string, error) { return said(x.Recover(ctx, executor.Options{}, nil)) },
		"collect": func(x *local.Executor) (string, error) {
			c, err := x.Collect(ctx, journal.Retention{Runs: 1}, executor.Options{})
			return fmt.Sprint(c.Runs), err
		},
	}
}

// TestEveryLookThatFails: an engine that cannot read something of its state, or
// of the machine, says so, or answers as if it could.
func TestEveryLookThatFails(t *testing.T) {
	base := lookWorld(t)
	for name, ask := range questions(t) {
		t.Run(name, func(t *testing.T) {
			for _, where := range []string{"state", "machine"} {
				want := ""
				for at := 0; ; at++ {
					p := base.copy()
					x := p.engine(t)
					b := p.h
					if where == "state" {
						b = p.st
					}
					if at > 0 {
						b.l.At = b.l.Seen() + at
					}
					got, err := ask(x)
					if at == 0 {
						want = got
						if err != nil {
							t.Fatal(err)
						}
						continue
					}
					if b.l.Hit() == "" {
						break
					}
					if err == nil && got != want {
						t.Errorf("the %s of the %s fails and nobody is told: %s\nwant %s", b.l.Hit(), where, got, want)
					}
				}
			}
		})
	}
}

// hide leaves out an error whose text says that there is nothing to do.
func hide(err error, text string) error {
	if err != nil && strings.Contains(err.Error(), text) {
		return nil
	}
	return err
}

func guarded(context.Context, time.Time) error { return nil }
