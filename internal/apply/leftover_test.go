package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
)

// manned is a machine whose programs have marks, and that can end them; and
// whose units say by themselves whether they last.
type manned struct {
	*mem.Host
	marks   []string // of what is run
	running []string // what a dead engine left, by mark
	lost    []string // what was to be ended
	patient map[string]time.Duration
	reaping error
	asked   bool
	ended   map[string]error // units that do not last
}

func (m *manned) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	m.marks = append(m.marks, host.MarkOf(ctx))
	return m.Host.Run(ctx, c)
}

func (m *manned) Reap(_ context.Context, lost func(string) (bool, time.Duration)) (int, error) {
	m.asked, m.lost, m.patient = true, nil, map[string]time.Duration{}
	for _, mark := range m.running {
		if gone, patience := lost(mark); gone {
			m.lost = append(m.lost, mark)
			m.patient[mark] = patience
		}
	}
	return len(m.lost), m.reaping
}

func (m *manned) Units() (host.Units, error) { return mannedUnits{m.Services(), m}, nil }

type mannedUnits struct {
	host.Units
	m *manned
}

func (u mannedUnits) Lasts(_ context.Context, name string) error { return u.m.ended[name] }

func (m *manned) apply(t *testing.T, w *world, list string) (*executor.Report, error) {
	t.Helper()
	x, err := local.New(m, w.st, options())
	must(t, err)
	return x.Apply(context.Background(), request(t, list), nil, executor.Options{}, nil)
}

// TestReap: what a dead engine left running is ended before anything is settled,
// and nothing else: not what had ended, nor what belongs to another run.
func TestReap(t *testing.T) {
	const list = "GROUP g\nEXEC db makedb undo=dropdb\nPKG tool\nUSER u\nMEMBER u adm\nEXEC late makedb undo=dropdb\n"
	w := newWorld(t)
	m := &manned{Host: w.h}
	w.tap.count = func(string, string) error {
		if len(m.marks) > 0 {
			return fault.ErrCrashed // while the command is running
		}
		return nil
	}
	_, err := m.apply(t, w, list)
	if err == nil || len(m.marks) != 1 {
		t.Fatalf("it was not cut short in its command: %v, %q", err, m.marks)
	}
	w.tap.count = nil
	mine := m.marks[0]
	prefix, ok := strings.CutSuffix(mine, "1/")
	if !ok {
		t.Fatalf("the mark of change 1 is %q", mine)
	}
	m.running = []string{mine, prefix + "0/", prefix + "2/", prefix + "3/", prefix + "4/", prefix + "5/",
		prefix + "5/back", prefix + "6/", prefix + "99/", prefix + "-1/", prefix + "x", "", "x" + mine,
		strings.Replace(mine, "/1/", "/2/", 1) + "y"}
	m.reaping = errors.New("they will not go")
	x, err := local.New(m, w.st, options())
	must(t, err)
	if _, err := x.Recover(context.Background(), executor.Options{}, nil); err == nil ||
		!strings.Contains(err.Error(), "cannot end the processes that the run left: they will not go") {
		t.Errorf("recovery goes on beside what runs on: %v", err)
	}
	m.reaping = nil
	rep, err := x.Recover(context.Background(), executor.Options{}, nil)
	must(t, err)
	want := map[string]time.Duration{mine: 0, prefix + "2/": 15 * time.Minute, prefix + "3/": time.Minute,
		prefix + "4/": time.Minute, prefix + "5/": 0, prefix + "5/back": 0, prefix + "6/": 0, prefix + "99/": 0,
		prefix + "-1/": 0, prefix + "x": 0}
	for _, mark := range m.lost {
		if d, ok := want[mark]; !ok || d != m.patient[mark] {
			t.Errorf("%q is ended, after %s; want %v %s", mark, m.patient[mark], ok, d)
		}
	}
	if len(m.lost) != len(want) {
		t.Errorf("ended are %q", m.lost)
	}
	if !strings.Contains(strings.Join(rep.Notes, "\n"), "10 processes of the interrupted run") {
		t.Errorf("it does not say so: %q", rep.Notes)
	}
}

// TestReapAfterBoot: a machine that was started again runs nothing of before.
func TestReapAfterBoot(t *testing.T) {
	w := newWorld(t)
	w.tap.count = func(_, p string) error {
		if strings.HasPrefix(p, "/srv/") {
			return fault.ErrCrashed
		}
		return nil
	}
	if _, err := w.apply(t, "COPY x /srv/x\n", executor.Options{}); err == nil {
		t.Fatal("it was not cut short")
	}
	w.tap.count = nil
	w = w.copy()
	m := &manned{Host: w.h, running: []string{"x"}}
	x, err := local.New(m, w.st, options())
	must(t, err)
	_, err = x.Recover(context.Background(), executor.Options{}, nil)
	must(t, err)
	if m.asked {
		t.Error("it looks for what a boot has ended")
	}
}

// TestLasting: a unit that ends at once has failed its step; an action that
// started it is due again.
func TestLasting(t *testing.T) {
	w := newWorld(t)
	m := &manned{Host: w.h, ended: map[string]error{"app.service": errors.New("app.service ended with 1")}}
	rep, err := m.apply(t, w, "UNIT app.service active=true\n")
	if err == nil || rep.Failed == nil || rep.Failed.Addr != "unit:app.service" ||
		!strings.Contains(rep.Failed.Error, "ended with 1") {
		t.Errorf("the step is %+v, %v", rep, err)
	}
	m.ended = nil
	if rep, err := m.apply(t, w, "UNIT app.service active=true\n"); err != nil {
		t.Errorf("it lasts, and the run is %+v, %v", rep, err)
	}
	const acting = "COPY good /etc/app.conf\nACT restart app.service on=file:/etc/app.conf\n"
	m.ended = map[string]error{"app.service": errors.New("app.service ended with 2")}
	rep, err = m.apply(t, w, acting)
	if err == nil || rep.Failed == nil || rep.Failed.Addr != "act:restart/app.service" || len(rep.Pending) != 1 {
		t.Errorf("the action is %+v, %v", rep, err)
	}
	m.ended = nil
	if rep, err = m.apply(t, w, acting); err != nil || len(rep.Pending) > 0 {
		t.Errorf("the action that is due: %+v, %v", rep, err)
	}
	jobs := strings.Join(m.Services().Jobs(), "\n")
	if strings.Count(jobs, "restart app.service") != 2 {
		t.Errorf("the jobs were:\n%s", jobs)
	}
	if u, _ := m.Services().Unit(context.Background(), "app.service"); (u == image.Unit{}) {
		t.Error("the unit is gone")
	}
}

// TestRecoveryTellsThatItFailed: what cannot be undone is no success.
func TestRecoveryTellsThatItFailed(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("broken")
	n := 0
	w.tap.count = func(op, p string) error {
		if p == "/srv/b" || n > 0 {
			n++
			return fault.ErrCrashed
		}
		return nil
	}
	if _, err := w.apply(t, "COPY x /srv/updated\nEXEC db makedb undo=dropdb\nCOPY y /srv/b\n",
		executor.Options{}); err == nil {
		t.Fatal("it was not cut short")
	}
	w.tap.count = func(op, p string) error {
		if strings.HasSuffix(p, ".wal") && op == host.OpWrite {
			return broken
		}
		return nil
	}
	if said, err := w.recover(executor.Options{OnCrash: "undo"}); err == nil {
		t.Errorf("recovery cannot write its journal, and says %s", said)
	}
}
