package executors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// journalOf is an executor with run 3. Run 2 is damaged, and run 1 no longer exists.
type journalOf struct{ executor.Executor }

func (journalOf) Runs(context.Context) ([]journal.RunInfo, error) {
	return []journal.RunInfo{{Header: journal.Header{Run: 2}}, {Header: journal.Header{Run: 3}}}, nil
}

func (journalOf) Show(_ context.Context, n int) (executor.Shown, error) {
	if n != 3 {
		return executor.Shown{}, errors.New("cannot read the record")
	}
	return executor.Shown{Info: journal.RunInfo{Header: journal.Header{Run: n}, Outcome: journal.Succeeded},
		Plan: &plan.Plan{Changes: []plan.Change{{Action: plan.Create, Addr: "file:/a"}}}}, nil
}

// detailed is a journalOf of the present version.
type detailed struct{ journalOf }

func (x detailed) RunDetails(ctx context.Context, n int, diffs bool) (executor.RunDetails, error) {
	s, err := x.Show(ctx, n)
	if err == nil && diffs {
		s.Plan.Changes[0].Diff = "+secret\n"
	}
	return executor.RunDetails{Shown: s, Took: map[int]int64{0: 7}, Notes: []string{"kept"}}, err
}

func (journalOf) Drift(_ context.Context, o executor.DriftOptions) (*plan.Plan, error) {
	c := plan.Change{Action: plan.Update, Addr: "file:/a"}
	if o.Diffs {
		c.Diff = "+secret\n"
	}
	return &plan.Plan{Changes: []plan.Change{c}}, nil
}

func (journalOf) PlanRollback(_ context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	if r.To > 3 {
		return nil, errors.New("cannot find the run")
	}
	return &plan.Plan{To: r.To, Changes: []plan.Change{{Action: plan.Remove, Addr: "file:/a", Diff: "-secret\n"}}}, nil
}

// serving returns an agent that serves an executor. As a real agent, it is read-only unless the hub permits changes.
func serving(x executor.Executor) func([]byte, io.ReadWriteCloser) {
	return func(header []byte, s io.ReadWriteCloser) {
		_ = wire.Serve(context.Background(), s, wire.Served{Now: time.Now,
			ReadOnly: !strings.Contains(string(header), `"changes":true`),
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return x, func() error { return nil }, nil
			}})
	}
}

// TestRun: a run has its durations and notes. Differences of content need the right operate.
func TestRun(t *testing.T) {
	in(t, serving(detailed{}), func(t *testing.T, w *world) {
		for _, diffs := range []bool{false, true} {
			d, err := w.Run(t.Context(), ann, bustest.ID(1), 3, diffs)
			if err != nil {
				t.Fatal(err)
			}
			c := d.Plan.Changes[0]
			if d.Format != rundoc.RunFormat || d.Info.Run != 3 || d.Info.Outcome != "succeeded" || c.Took != 7 ||
				d.Notes[0] != "kept" || (c.Diff != "") != diffs {
				t.Errorf("with diffs %v: %+v", diffs, d)
			}
		}
	})
}

// TestJournal: the runs of a target are in pages, the newest first.
func TestJournal(t *testing.T) {
	in(t, serving(journalOf{}), func(t *testing.T, w *world) {
		for _, c := range []struct{ offset, limit, want, total int }{{0, 1, 3, 1}, {1, 1, 2, 1}, {0, 0, 3, 2}, {9, 1, 0, 0}} {
			d, err := w.Journal(t.Context(), ann, bustest.ID(1), c.offset, c.limit)
			if err != nil || d.Format != rundoc.RunsFormat || d.Total != 2 || len(d.Runs) != c.total ||
				c.total > 0 && d.Runs[0].Run != c.want {
				t.Errorf("%+v: %+v %v", c, d, err)
			}
		}
		if _, err := w.Journal(t.Context(), ann, bustest.ID(2), 0, 0); !errors.Is(err, fleet.ErrOffline) {
			t.Errorf("a target without a connection: %v", err)
		}
	})
}

// TestDriftAndPlan: a hub gets the drift of a target and the plan of a rollback, which nothing executes.
func TestDriftAndPlan(t *testing.T) {
	in(t, serving(journalOf{}), func(t *testing.T, w *world) {
		for _, diffs := range []bool{false, true} {
			d, err := w.Drift(t.Context(), ann, bustest.ID(1), diffs)
			if err != nil || d.Format != rundoc.DriftFormat || len(d.Changes) != 1 || (d.Changes[0].Diff != "") != diffs {
				t.Errorf("with diffs %v: %+v %v", diffs, d, err)
			}
		}
		d, err := w.PlanRollback(t.Context(), ann, bustest.ID(1), 2, true)
		if err != nil || d.Format != rundoc.PlanFormat || d.To != 2 || d.Changes[0].Diff == "" {
			t.Errorf("%+v %v", d, err)
		}
		_, err = w.PlanRollback(t.Context(), ann, bustest.ID(1), 4, true)
		if p, ok := errors.AsType[*document.Problem](err); !ok || p.Status != 502 ||
			!strings.Contains(p.Hint, "fettle rollback -t web1 4") {
			t.Errorf("%v", err)
		}
	})
}

// TestRunOfEarlierAgent: an agent of an earlier version returns a run without its details.
func TestRunOfEarlierAgent(t *testing.T) {
	in(t, serving(journalOf{}), func(t *testing.T, w *world) {
		d, err := w.Run(t.Context(), ann, bustest.ID(1), 3, false)
		if err != nil || d.Plan.Changes[0].Addr != "file:/a" || d.Plan.Changes[0].Took != 0 {
			t.Errorf("%+v %v", d, err)
		}
	})
}

// TestMissingRun: a run that does not exist is not found. The error of a damaged run names it.
func TestMissingRun(t *testing.T) {
	in(t, serving(detailed{}), func(t *testing.T, w *world) {
		for run, want := range map[int]struct {
			status int
			text   string
		}{1: {404, "cannot find run 1 in the journal of web1"}, 2: {502, "cannot read run 2: cannot read the record"},
			0: {404, "cannot find run 0"}} {
			_, err := w.Run(t.Context(), ann, bustest.ID(1), run, false)
			p, ok := errors.AsType[*document.Problem](err)
			if !ok || p.Status != want.status || !strings.Contains(p.Detail, want.text) {
				t.Errorf("run %d: %v", run, err)
			}
		}
	})
}

// TestRunOfSilentAgent: if an agent accepts the stream and does not answer, the hub gives up after 15 seconds. It does
// not wait for a target that is not connected.
func TestRunOfSilentAgent(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		began := time.Now()
		_, err := w.Run(t.Context(), ann, bustest.ID(1), 3, false)
		refused(t, err, api.Unavailable, "its agent does not answer")
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it took %s", took)
		}
		if _, err := w.Run(t.Context(), ann, bustest.ID(2), 3, false); !errors.Is(err, fleet.ErrOffline) {
			t.Errorf("a target without a connection: %v", err)
		}
		if _, err := w.Run(t.Context(), ann, "nobody", 3, false); !errors.Is(err, errUnknown) {
			t.Errorf("an unknown target: %v", err)
		}
	})
}

// TestRunOfHostileAgent: an agent that sends an endless message uses no more memory than the limit.
func TestRunOfHostileAgent(t *testing.T) {
	endless := func(_ []byte, s io.ReadWriteCloser) {
		for {
			if _, err := fmt.Fprint(s, strings.Repeat("\xff", 1<<16)); err != nil {
				return
			}
		}
	}
	in(t, endless, func(t *testing.T, w *world) {
		_, err := w.Run(t.Context(), ann, bustest.ID(1), 3, false)
		if p, ok := errors.AsType[*document.Problem](err); !ok || p.Status != 502 {
			t.Errorf("%v", err)
		}
	})
}

// TestLimitOfRuns: a user reads four runs at once. Other users have their own.
func TestLimitOfRuns(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		for range 4 {
			go func() { _, _ = w.Run(ctx, ann, bustest.ID(1), 3, false) }()
		}
		synctest.Wait()
		_, err := w.Run(ctx, ann, bustest.ID(1), 3, false)
		refused(t, err, api.TooMany, "too many are being read", "in a few seconds")
		_, err = w.Run(ctx, bob, bustest.ID(1), 3, false)
		refused(t, err, api.Unavailable, "its agent does not answer")
		stop()
		synctest.Wait()
		_, err = w.Run(t.Context(), ann, bustest.ID(1), 3, false)
		refused(t, err, api.Unavailable, "its agent does not answer")
	})
}
