package push_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/history"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/push"
)

// driven runs a driver on the hosts of a site, whose time advances by a second with each tick.
type driven struct {
	*site
	push.Driver
	file   *history.Log
	events []rollout.Event
}

func drive(t *testing.T, x *site, file string) *driven {
	f, err := history.OpenLog(file, "a test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	log, err := push.NewLog(f, f.Lines)
	if err != nil {
		t.Fatal(err)
	}
	d := &driven{site: x, file: f}
	m := push.New(x.order)
	if push.Continues(x.order, log.Records) {
		m.Fold(log.Records)
	} else if err := log.Begin(x.order); err != nil {
		t.Fatal(err)
	}
	x.machine = m
	tick := make(chan time.Time)
	go func() {
		for t.Context().Err() == nil {
			select {
			case tick <- time.Time{}:
				d.Lock()
				x.now++
				d.Unlock()
			case <-t.Context().Done():
			}
		}
	}()
	d.Driver = push.Driver{Machine: m, Store: log.Append, Do: d.do, Now: d.clock, Tick: tick,
		Observe: func(e rollout.Event) { d.events = append(d.events, e) }}
	return d
}

func (d *driven) clock() time.Time {
	d.Lock()
	defer d.Unlock()
	return time.Unix(d.now, 0)
}

func (d *driven) do(_ context.Context, t push.Task) push.Result {
	d.Lock()
	defer d.Unlock()
	return d.hosts[t.Target].do(t, d.now)
}

func TestDriver(t *testing.T) {
	x := newSite(6, rollout.Careful())
	d := drive(t, x, filepath.Join(t.TempDir(), "log"))
	if err := d.Run(t.Context()); err != nil || x.phase() != rollout.Completed || x.count("new") != 6 {
		t.Errorf("%v, %s, %d have the content", err, x.phase(), x.count("new"))
	}
	if len(d.events) == 0 || d.events[0].Kind != rollout.Created || d.events[len(d.events)-1].Kind != rollout.Ended {
		t.Errorf("%d events", len(d.events))
	}
}

// TestInterrupt: the task in progress ends, no other one begins, and the next command continues. Meanwhile no other
// process can use the log.
func TestInterrupt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "log")
	x := newSite(6, rollout.Careful())
	d := drive(t, x, file)
	var locked *host.LockedError
	if _, err := history.OpenLog(file, "another test"); !errors.As(err, &locked) || locked.Holder != "a test" {
		t.Errorf("a second process: %v", err)
	}
	interrupts := make(chan struct{}, 1)
	d.Interrupts = interrupts
	d.Observe = func(e rollout.Event) {
		if e.Kind == rollout.Advanced && e.Wave == 1 {
			interrupts <- struct{}{}
		}
	}
	if err := d.Run(t.Context()); !errors.Is(err, push.ErrInterrupted) || x.count("new") == 6 || x.count("new") == 0 {
		t.Fatalf("%v, %d have the content", err, x.count("new"))
	}
	if err := d.file.Close(); err != nil {
		t.Fatal(err)
	}
	d = drive(t, x, file)
	if err := d.Run(t.Context()); err != nil || x.phase() != rollout.Completed || x.count("new") != 6 {
		t.Errorf("%v, %s, %d have the content", err, x.phase(), x.count("new"))
	}
	if slices.ContainsFunc(d.events, func(e rollout.Event) bool { return e.Kind == rollout.Created }) {
		t.Error("another rollout began")
	}
}

// TestFullDisk: no task begins whose records were not stored.
func TestFullDisk(t *testing.T) {
	x := newSite(3, rollout.Careful())
	d := drive(t, x, filepath.Join(t.TempDir(), "log"))
	full := errors.New("no space left on device")
	d.Store = func([]push.Record) error { return full }
	if err := d.Run(t.Context()); !errors.Is(err, full) || x.count("new") > 0 {
		t.Errorf("%v, %d have the content", err, x.count("new"))
	}
}

// TestBadLines: a line that is not a record is an error.
func TestBadLines(t *testing.T) {
	for _, bad := range []string{"{}", "x", "", `{"base":{},"event":{}}`} {
		if _, err := push.NewLog(nil, [][]byte{[]byte(bad)}); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestInterruptedQuestion: an interrupt ends the questions in progress, and the next command asks again.
func TestInterruptedQuestion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	x := newSite(4, gated(errorsGate))
	d := drive(t, x, file)
	stop := make(chan struct{}, 1)
	d.Interrupts = stop
	d.Ask = func(ctx context.Context, _ rollout.Due) (rollout.Verdict, string) {
		stop <- struct{}{}
		<-ctx.Done()
		return rollout.Fail, "too late"
	}
	if err := d.Run(t.Context()); !errors.Is(err, push.ErrInterrupted) || x.phase() != rollout.Active {
		t.Fatalf("%v, %s", err, x.phase())
	}
	_ = d.file.Close()
	d = drive(t, x, file)
	d.Ask = func(context.Context, rollout.Due) (rollout.Verdict, string) { return rollout.Pass, "" }
	if err := d.Run(t.Context()); err != nil || x.phase() != rollout.Completed || x.count("new") != 4 {
		t.Errorf("%v, %s, %d have the change", err, x.phase(), x.count("new"))
	}
}
