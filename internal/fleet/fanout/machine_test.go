package fanout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet/fanout"
)

// printed formats events for scripts.
func printed(events []fanout.Event) string {
	var out []string
	for _, e := range events {
		text := e.What.String()
		if e.Target != "" {
			text += " " + e.Target
		}
		if e.Outcome.Status != fanout.Unset {
			text += " " + e.Outcome.Status.String()
		}
		if why := e.Why + e.Outcome.Why; why != "" {
			text += " (" + why + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// play runs a script with a machine of targets a, b, c…: its words are begin, interrupt, and a
// target with its outcome.
func play(targets int, o fanout.Options, script string) []string {
	var names []string
	for i := range targets {
		names = append(names, string(rune('a'+i)))
	}
	m := fanout.NewMachine(names, o)
	var out []string
	for n, word := range strings.Fields(script) {
		now := time.Unix(int64(n), 0)
		target, status, _ := strings.Cut(word, "=")
		switch word {
		case "begin":
			out = append(out, printed(m.Begin(now)))
		case "interrupt":
			out = append(out, printed(m.Interrupt(now)))
		default:
			out = append(out, printed(m.Ended(target, fanout.Outcome{Status: statusOf(status)}, now)))
		}
	}
	return out
}

func statusOf(word string) fanout.Status {
	for s := range fanout.Skipped + 1 {
		if s.String() == word {
			return s
		}
	}
	panic(word)
}

func TestMachine(t *testing.T) {
	none, one := amount.Amount{}, amount.Amount{Number: 1}
	for _, c := range []struct {
		name    string
		targets int
		options fanout.Options
		script  string
		want    []string
	}{
		{"none", 0, fanout.Options{}, "begin interrupt", []string{"finished", ""}},
		{"two at once", 3, fanout.Options{Parallel: 2}, "begin b=ok a=changed c=ok",
			[]string{"started a, started b", "ended b ok, started c", "ended a changed", "ended c ok, finished"}},
		{"batches", 5, fanout.Options{Batch: amount.Amount{Number: 2}}, "begin b=ok a=failed c=ok d=ok e=ok",
			[]string{"started a, started b", "ended b ok", "ended a failed, started c, started d", "ended c ok",
				"ended d ok, started e", "ended e ok, finished"}},
		{"batches of a part, one at once", 4, fanout.Options{Parallel: 1, Batch: amount.Amount{Number: 50, Percent: true}},
			"begin a=ok b=ok",
			[]string{"started a", "ended a ok, started b", "ended b ok, started c"}},
		{"a part of nobody is one", 3, fanout.Options{Batch: amount.Amount{Number: 1, Percent: true}}, "begin a=ok",
			[]string{"started a", "ended a ok, started b"}},
		{"fail fast", 3, fanout.Options{Parallel: 2, MaxFailed: &none}, "begin a=unreachable b=ok",
			[]string{"started a, started b",
				"ended a unreachable, stopped (1 failed), ended c skipped (not begun, since 1 failed)", "ended b ok, finished"}},
		{"one may fail", 4, fanout.Options{Parallel: 1, MaxFailed: &one}, "begin a=failed b=failed",
			[]string{"started a", "ended a failed, started b",
				"ended b failed, stopped (2 failed), ended c skipped (not begun, since 2 failed), ended d skipped (not begun, since 2 failed), finished"}},
		{"a quarter may fail", 4, fanout.Options{Parallel: 1, MaxFailed: &amount.Amount{Number: 25, Percent: true}},
			"begin a=failed b=failed",
			[]string{"started a", "ended a failed, started b",
				"ended b failed, stopped (2 failed), ended c skipped (not begun, since 2 failed), ended d skipped (not begun, since 2 failed), finished"}},
		{"the last one fails", 1, fanout.Options{MaxFailed: &none}, "begin a=failed",
			[]string{"started a", "ended a failed, finished"}},
		{"interrupted", 3, fanout.Options{Parallel: 1}, "begin interrupt interrupt interrupt a=failed interrupt",
			[]string{"started a",
				"stopped (it was interrupted), ended b skipped (not begun, since it was interrupted), ended c skipped (not begun, since it was interrupted)",
				"cancelled", "", "ended a failed, finished", ""}},
		{"interrupted before it begins", 1, fanout.Options{}, "interrupt begin",
			[]string{"stopped (it was interrupted), ended a skipped (not begun, since it was interrupted), finished", ""}},
		{"what makes no sense", 2, fanout.Options{Parallel: 1}, "begin begin b=ok x=ok a=unset a=ok b=ok b=ok",
			[]string{"started a", "", "", "", "ended a failed, started b", "", "ended b ok, finished", ""}},
	} {
		if got := play(c.targets, c.options, c.script); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// world checks the guarantees of a machine from outside.
type world struct {
	targets []string
	options fanout.Options
	parts   [][]string // the batches
	running []string
	began   map[string]bool
	ended   map[string]int
	bad     int
	stopped bool
	over    bool
}

// take checks events and returns the first violated guarantee.
func (w *world) take(events []fanout.Event) error {
	for _, e := range events {
		switch e.What {
		case fanout.Started:
			if err := w.start(e.Target); err != nil {
				return err
			}
		case fanout.Ended:
			if w.ended[e.Target]++; w.ended[e.Target] > 1 {
				return fmt.Errorf("%s ends twice", e.Target)
			}
			if skipped := e.Outcome.Status == fanout.Skipped && e.Outcome.Why != ""; skipped == w.began[e.Target] {
				return fmt.Errorf("%s ends as %v", e.Target, e.Outcome)
			}
		case fanout.Stopped:
			if w.stopped {
				return fmt.Errorf("stopped twice")
			}
			w.stopped = true
		case fanout.Finished:
			if w.over || len(w.running) > 0 || len(w.ended) < len(w.targets) {
				return fmt.Errorf("finished with %v of %d", w.ended, len(w.targets))
			}
			w.over = true
		}
		if e.Running != len(w.running) {
			return fmt.Errorf("%d run, and the event says %d", len(w.running), e.Running)
		}
	}
	return nil
}

func (w *world) start(target string) error {
	w.running = append(w.running, target)
	w.began[target] = true
	switch {
	case w.stopped || w.over:
		return fmt.Errorf("%s starts after the end", target)
	case len(w.running) > w.options.Parallel:
		return fmt.Errorf("%d run, %d may", len(w.running), w.options.Parallel)
	case w.options.MaxFailed != nil && w.bad > w.options.MaxFailed.Number:
		return fmt.Errorf("%s starts after %d failed", target, w.bad)
	}
	for _, part := range w.parts {
		if slices.Contains(part, target) {
			return nil
		}
		for _, before := range part {
			if w.ended[before] == 0 {
				return fmt.Errorf("%s starts before %s of an earlier batch has ended", target, before)
			}
		}
	}
	return fmt.Errorf("%s is nobody", target)
}

// history is a machine with its inputs.
type history struct {
	said  []func(*fanout.Machine, time.Time) []fanout.Event
	heard []string
}

// For any events in any order, the guarantees hold, and the same inputs give the same events.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{began: map[string]bool{}, ended: map[string]int{}}
		for i := range rapid.IntRange(0, 30).Draw(t, "targets") {
			w.targets = append(w.targets, fmt.Sprintf("t%02d", i))
		}
		w.options.Parallel = rapid.IntRange(1, 8).Draw(t, "parallel")
		w.options.Batch.Number = rapid.IntRange(0, 8).Draw(t, "batch")
		if rapid.Bool().Draw(t, "limited") {
			w.options.MaxFailed = &amount.Amount{Number: rapid.IntRange(0, 4).Draw(t, "failures")}
		}
		w.parts = [][]string{w.targets}
		if n := w.options.Batch.Number; n > 0 {
			w.parts = slices.Collect(slices.Chunk(w.targets, n))
		}
		h := &history{}
		m := fanout.NewMachine(w.targets, w.options)
		say := func(f func(*fanout.Machine, time.Time) []fanout.Event) {
			events := f(m, time.Unix(int64(len(h.said)), 0))
			h.said, h.heard = append(h.said, f), append(h.heard, fmt.Sprint(events))
			if err := w.take(events); err != nil {
				t.Fatal(err)
			}
		}
		say((*fanout.Machine).Begin)
		for !m.Finished() {
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				say((*fanout.Machine).Interrupt)
			case 1:
				name := rapid.SampledFrom([]string{"nobody", "t00", "t29"}).Draw(t, "noise")
				if !slices.Contains(w.running, name) {
					say(func(m *fanout.Machine, now time.Time) []fanout.Event {
						return m.Ended(name, fanout.Outcome{Status: fanout.Failed}, now)
					})
				}
			default:
				i := rapid.IntRange(0, len(w.running)-1).Draw(t, "who")
				name, status := w.running[i], fanout.Status(rapid.IntRange(1, 4).Draw(t, "how"))
				w.running = slices.Delete(w.running, i, i+1)
				if status == fanout.Failed || status == fanout.Unreachable {
					w.bad++
				}
				say(func(m *fanout.Machine, now time.Time) []fanout.Event {
					return m.Ended(name, fanout.Outcome{Status: status}, now)
				})
			}
		}
		if sum := m.Summary(); sum.Count(fanout.OK, fanout.Changed, fanout.Failed, fanout.Unreachable,
			fanout.Skipped) != len(w.targets) || !w.over {
			t.Fatal(sum)
		}
		again := fanout.NewMachine(w.targets, w.options)
		for i, f := range h.said {
			if got := fmt.Sprint(f(again, time.Unix(int64(i), 0))); got != h.heard[i] {
				t.Fatalf("the second time it says %s, the first time %s", got, h.heard[i])
			}
		}
	})
}
