package history

import (
	"context"
	"errors"
	"math"
	"path"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host/mem"
)

// world is a hub with a history.
type world struct {
	t        *testing.T
	files    *mem.Host
	now      time.Time
	status   document.Status
	load     Load
	runs     []time.Duration
	deaf     bool // neither the read model nor the load can be read
	warnings []string
	*History
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, files: mem.New(mem.Options{}), now: time.Date(2026, 11, 28, 23, 50, 0, 0, time.UTC)}
	w.start()
	return w
}

// start starts the hub, without its memory.
func (w *world) start() {
	w.History = New(Config{Hub: "hub1", Files: w.files, Dir: "/history", Now: func() time.Time { return w.now },
		Warn: func(s string) { w.warnings = append(w.warnings, s) },
		Fleet: func(context.Context, time.Time) (document.Status, error) {
			if w.deaf {
				return document.Status{}, errors.New("deaf")
			}
			return w.status, nil
		},
		Load: func() (Load, error) {
			if w.deaf {
				return Load{}, errors.New("deaf")
			}
			return w.load, nil
		}, Runs: func(_ context.Context, after uint64, each func(time.Duration)) (uint64, error) {
			if w.deaf {
				return 99, errors.New("deaf")
			}
			for _, d := range w.runs[min(int(max(after, 1)-1), len(w.runs)):] {
				each(d)
			}
			return uint64(len(w.runs) + 1), nil
		}})
	w.read()
}

func (w *world) sample(after time.Duration, targets int, cpu float64) {
	w.t.Helper()
	w.now = w.now.Add(after)
	w.status.Targets, w.status.Errors = targets, targets
	w.load.CPU += cpu
	if err := w.take(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// values returns the points of one series.
func (w *world) values(name string, days int) (out []float64) {
	w.t.Helper()
	d, err := w.History.History(w.t.Context(), route.HistoryQuery{Days: days})
	if err != nil {
		w.t.Fatal(err)
	}
	last := int64(0)
	for _, s := range d.Series {
		for _, p := range s.Points {
			if s.Name == name {
				if out = append(out, p.Value); p.At <= last || p.At%d.Span != 0 {
					w.t.Errorf("%s has a point at %d after %d", name, p.At, last)
				}
				last = p.At
			}
		}
	}
	return out
}

func (w *world) want(name string, days int, want ...float64) {
	w.t.Helper()
	got := w.values(name, days)
	same := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		same = same && math.Abs(got[i]-want[i]) < 1e-9
	}
	if !same {
		w.t.Errorf("%s in %d days: %v, want %v", name, days, got, want)
	}
}

// TestSamples: each sample is a point of the last day. The CPUs of the first one are unknown. A hub that starts again
// has the stored samples, also of the day before.
func TestSamples(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 3, 100)
	w.sample(Interval, 4, 150)
	w.sample(Interval, 5, 600)
	w.want("targets", 1, 3, 4, 5)
	w.want("cpu", 1, 0.5, 2)
	w.start()
	w.want("targets", 1, 3, 4, 5)
	w.sample(Interval, 6, 0)
	w.want("targets", 1, 3, 4, 5, 6)
	w.want("cpu", 1, 0.5, 2)
	names, err := w.files.ReadDir("/history")
	if err != nil || strings.Join(names, " ") != "2026-11-28.jsonl 2026-11-29.jsonl" {
		t.Error(names, err)
	}
}

// TestUnknownNumbers: a sample lacks what the hub cannot read, and a hub that is down takes none. Both are gaps.
func TestUnknownNumbers(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 3, 0)
	w.deaf = true
	w.sample(Interval, 9, 0)
	w.deaf = false
	w.sample(time.Hour, 4, 0)
	w.want("targets", 1, 3, 4)
	w.start()
	w.want("targets", 1, 3, 4)
}

// TestManyDays: over many days, a point is the mean of a time span, or the largest value of a number that should be
// small. Old samples and their files go.
func TestManyDays(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	w.sample(0, 2, 0)
	for i := range 30 * 24 {
		w.sample(time.Hour, 10+i%2, 0)
	}
	for name, mean := range map[string]float64{"targets": 10.5, "errors": 11} {
		got := w.values(name, 99)
		if len(got) < 280 || len(got) > maxPoints+1 {
			t.Errorf("%d points", len(got))
		}
		for _, v := range got[3:280] {
			if v < mean-0.26 || v > mean+0.26 {
				t.Errorf("%s has the value %v", name, v)
			}
		}
	}
	w.sample(24*time.Hour, 1, 0)
	names, err := w.files.ReadDir("/history")
	if err != nil || len(names) > Days+1 || len(w.samples) > Days*24+2 {
		t.Error(len(names), len(w.samples), err)
	}
}

// TestClockSetBack: samples keep their order, and those of the future are not read.
func TestClockSetBack(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 1, 0)
	w.sample(-3*time.Minute, 2, 0)
	w.sample(10*time.Minute, 3, 0)
	w.want("targets", 1, 1, 3)
	w.now = w.now.Add(-6 * time.Minute)
	w.start()
	w.want("targets", 1, 1)
}

// TestDamagedHistory: lines and files that cannot be read are skipped. Other files stay.
func TestDamagedHistory(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 1, 0)
	file := path.Join("/history", fileOf(w.now))
	text, err := smallfile.Read(w.files, file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := "\x00\n{\"at\":12\n{}\n{\"at\":-5,\"values\":{}}\n" + string(text) + string(text) + string(text[:20])
	for name, text := range map[string]string{file: damaged, "/history/notes": "mine", "/history/2001-01-01.jsonl": "x"} {
		if err := smallfile.Write(w.files, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	w.want("targets", 1, 1)
	w.sample(Interval, 2, 0)
	w.want("targets", 1, 1, 2)
	if names, err := w.files.ReadDir("/history"); err != nil || strings.Join(names, " ") != fileOf(w.now)+" notes" {
		t.Error(names, err)
	}
}

// TestFullDisk: without a directory, the hub warns, and the plots are those of its memory.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	if err := smallfile.Write(w.files, "/history", nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.Config.Fleet = func(context.Context, time.Time) (document.Status, error) {
		return document.Status{Targets: 7}, nil
	}
	done := make(chan error, 1)
	warned := make(chan struct{}, 10)
	w.Warn = func(string) { warned <- struct{}{} }
	go func() { done <- w.Run(ctx) }()
	<-warned
	w.want("targets", 1, 7)
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLoad: the load of this process.
func TestLoad(t *testing.T) {
	l, err := ProcessLoad()
	if err != nil || l.CPU <= 0 || l.Memory < 1<<20 || l.Memory > 1<<40 {
		t.Errorf("%+v %v", l, err)
	}
}
