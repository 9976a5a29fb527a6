package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// attempt is one run of a list with the command "m", and what becomes of it.
type attempt struct {
	Command string // ok, fails, hangs, interrupted, killed: the power goes while it runs
	Later   string // ok, fails, interrupted, killed: what a step after the command does
	Policy  string // on failure
	OnCrash string
}

func (a attempt) String() string {
	return fmt.Sprintf("command %s, then %s, on failure %s, on crash %s", a.Command, a.Later, a.Policy, a.OnCrash)
}

// finished tells whether the command counts as done after the attempt, given
// whether it did before.
func (a attempt) finished(before bool) bool {
	switch {
	case before:
		return true // it does not run in this attempt
	case a.Command != "ok":
		return false
	case a.Later == "killed":
		return a.OnCrash == "finish"
	}
	return a.Later == "ok" || a.Policy == "stop"
}

// commandWorld is a machine with the programs m, later and unm.
type commandWorld struct {
	*world
	now  attempt
	ran  int // how often m ran in the attempt
	stop context.CancelFunc
	cut  *world // as the power cut of the attempt leaves it
}

func newCommandWorld() *commandWorld {
	w, tp := &commandWorld{}, &tap{}
	w.world = &world{tap: tp, h: mem.New(mem.Options{Count: tp.Count, Run: w.programs}),
		st: mem.New(mem.Options{Count: tp.Count})}
	return w
}

func (w *commandWorld) programs(ctx context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
	how := "ok"
	switch c.Argv[0] {
	case "/bin/m":
		w.ran++
		how = w.now.Command
	case "/bin/no":
		return host.CommandResult{ExitCode: 1}, nil
	case "/bin/later":
		how = w.now.Later
	}
	switch how {
	case "fails":
		return host.CommandResult{ExitCode: 1}, nil
	case "hangs":
		return host.CommandResult{ExitCode: -1, TimedOut: true}, nil
	case "interrupted":
		w.stop()
		return host.CommandResult{ExitCode: -1}, ctx.Err()
	case "signal": // it ends with success all the same
		w.stop()
	case "killed":
		if w.cut == nil {
			w.cut = w.crash(rand.New(rand.NewPCG(1, 2)))
		}
	}
	return host.CommandResult{}, nil
}

// attempt applies the list in the way of a. It tells how often the command ran.
func (w *commandWorld) attempt(t testing.TB, list string, a attempt) (int, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.now, w.ran, w.stop, w.cut = a, 0, cancel, nil
	x, err := w.open()
	must(t, err)
	_, err = x.Apply(ctx, request(t, list), nil, executor.Options{OnFailure: a.Policy, OnCrash: a.OnCrash}, nil)
	ran := w.ran
	if w.cut != nil {
		w.world = w.cut
		w.now = attempt{Command: "ok", Later: "ok"}
		_, rerr := w.recover(executor.Options{})
		must(t, rerr)
		err = errors.Join(err, errors.New("killed"))
	}
	return ran, err
}

// TestCommandsAreDoneOnce: a command counts as done once a run in which it
// finished with success is kept, and at no other time. Until then each run runs it.
func TestCommandsAreDoneOnce(t *testing.T) {
	pick := func(r *rapid.T, label string, of ...string) string { return rapid.SampledFrom(of).Draw(r, label) }
	rapid.Check(t, func(r *rapid.T) {
		undo := pick(r, "undo", "", " undo=/bin/unm")
		list := "EXEC m /bin/m timeout=1m" + undo + "\nEXEC later /bin/later creates=/never\nCOPY a /after\n"
		w, done := newCommandWorld(), false
		var history []string
		for range rapid.IntRange(1, 4).Draw(r, "attempts") {
			a := attempt{Command: pick(r, "command", "ok", "fails", "hangs", "interrupted", "killed"),
				Later:  pick(r, "later", "ok", "fails", "interrupted", "killed"),
				Policy: pick(r, "policy", "stop", "undo"), OnCrash: pick(r, "crash", "undo", "finish")}
			if !done && a.Command == "killed" {
				a.Later = "ok" // it is not reached
			}
			ran, err := w.attempt(t, list, a)
			history = append(history, fmt.Sprintf("%s: ran %d times: %v", a, ran, err))
			if want := map[bool]int{true: 0, false: 1}[done]; ran != want {
				r.Fatalf("the command ran %d times, want %d%s\n%s", ran, want, undo, strings.Join(history, "\n"))
			}
			done = a.finished(done)
		}
		ran, err := w.attempt(t, list, attempt{Command: "ok", Later: "ok", Policy: "stop", OnCrash: "undo"})
		if there, _ := host.Exists(w.h, "/after"); err != nil || !there || (ran == 1) == done || ran > 1 {
			r.Fatalf("the last apply ran the command %d times where it was done %v%s: %v\n%s", ran, done, undo, err,
				strings.Join(history, "\n"))
		}
	})
}

// TestInterruptedRuns: a run that a signal stops says so, whatever it was at. One
// that had done everything when the signal came has succeeded.
func TestInterruptedRuns(t *testing.T) {
	const list = "EXEC m /bin/m timeout=1m\nEXEC later /bin/later\n"
	for _, c := range []struct {
		list string
		how  attempt
		want journal.Outcome
	}{
		{list, attempt{Command: "interrupted", Policy: "stop"}, journal.Interrupted},
		{list, attempt{Command: "interrupted", Policy: "undo"}, journal.Interrupted}, // what m did may stay
		{strings.ReplaceAll(list, "1m", "1m undo=/bin/unm"), attempt{Command: "interrupted", Policy: "undo"},
			journal.RolledBack},
		{list, attempt{Command: "signal", Policy: "stop"}, journal.Interrupted},
		{list, attempt{Command: "ok", Later: "signal", Policy: "stop"}, journal.Succeeded},
		{list, attempt{Command: "fails", Policy: "stop"}, journal.Failed},
	} {
		w := newCommandWorld()
		_, err := w.attempt(t, c.list, c.how)
		x, oerr := w.open()
		must(t, oerr)
		runs, lerr := x.Runs(t.Context())
		must(t, lerr)
		if len(runs) != 1 || runs[0].Outcome != c.want || (err == nil) != (c.want == journal.Succeeded) {
			t.Errorf("%s: %+v, %v, want %s", c.how, runs, err, c.want)
		}
	}
}

// TestEarlierVersionOfAKilledCommand: a version of a command that a crash interrupted may have changed the effect of an
// earlier version, which therefore runs again. An unsatisfied guard, and an earlier command that cannot be undone,
// change nothing.
func TestEarlierVersionOfAKilledCommand(t *testing.T) {
	const list = "EXEC m /bin/m timeout=1m\n"
	for _, before := range []string{"", "EXEC later /bin/later\n"} {
		for _, guard := range []string{"", " unless=/bin/no"} {
			for _, how := range []string{"undo", "finish"} {
				w := newCommandWorld()
				ok := attempt{Command: "ok", Later: "ok", Policy: "stop", OnCrash: how}
				_, err := w.attempt(t, list, ok)
				must(t, err)
				killed := ok
				killed.Command = "killed"
				_, _ = w.attempt(t, before+strings.TrimSpace(list)+" cwd=/"+guard+"\n", killed)
				if ran, err := w.attempt(t, list, ok); ran != 1 || err != nil {
					t.Errorf("after %q with the guard %q, on crash %s: the command ran %d times: %v", before, guard, how, ran, err)
				}
			}
		}
	}
}
