package round_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
)

func ExampleRound_Run() {
	r := round.Round{Work: func(_ context.Context, target string) round.Outcome {
		if target == "web2" {
			return round.Failed(errors.New("cannot write to /etc: the disk is full"), "Free some space")
		}
		return round.Outcome{Status: fanout.OK, Line: "in sync"}
	}}
	all, _ := r.Run(context.Background(), []string{"web1", "web2", "web3"})
	for _, g := range round.Groups(all) {
		fmt.Println(g.Status, g.Targets)
		fmt.Print(g.Body)
	}
	// Output:
	// ok [web1 web3]
	// failed [web2]
	// error: cannot write to /etc: the disk is full
	// hint: Free some space
}

// TestRun: each target has its outcome, with the part, and Ended gets every outcome before its event.
func TestRun(t *testing.T) {
	got, events := map[string]round.Outcome{}, 0
	r := round.Round{
		Part: "drain",
		Work: func(_ context.Context, target string) round.Outcome {
			return round.Outcome{Status: fanout.Changed, Line: target}
		},
		Ended: func(target string, o round.Outcome) { got[target] = o },
		Observe: func(e fanout.Event) {
			if e.What == fanout.Ended {
				events++
			}
			if len(got) != events {
				t.Errorf("%d outcomes after %d events", len(got), events)
			}
		},
	}
	all, stopped := r.Run(t.Context(), []string{"a", "b", "c"})
	for _, name := range []string{"a", "b", "c"} {
		if o := all[name]; o.Line != name || o.Part != "drain" || got[name].Line != name {
			t.Errorf("%s: %+v, %+v", name, o, got[name])
		}
	}
	if len(all) != 3 || stopped != "" {
		t.Errorf("%d outcomes, stopped: %q", len(all), stopped)
	}
}

// TestStoppedRound: targets that did not begin are skipped, with the reason.
func TestStoppedRound(t *testing.T) {
	most, err := amount.Parse("0")
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	r := round.Round{
		Options: fanout.Options{Parallel: 1, MaxFailed: &most}, Part: "drain",
		Work:  func(context.Context, string) round.Outcome { return round.Failed(fs.ErrPermission, "") },
		Ended: func(string, round.Outcome) { ended++ },
	}
	all, stopped := r.Run(t.Context(), []string{"a", "b", "c"})
	if stopped == "" || ended != 3 {
		t.Errorf("stopped: %q, %d ended", stopped, ended)
	}
	for _, name := range []string{"b", "c"} {
		if o := all[name]; o.Status != fanout.Skipped || o.Line == "" || o.Part != "drain" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestInterruptedRound: targets that did not begin are skipped.
func TestInterruptedRound(t *testing.T) {
	interrupts, begun := make(chan struct{}, 1), make(chan struct{})
	r := round.Round{
		Options:    fanout.Options{Parallel: 1},
		Interrupts: interrupts,
		Work: func(context.Context, string) round.Outcome {
			interrupts <- struct{}{}
			<-begun
			return round.Outcome{Status: fanout.OK}
		},
		Observe: func(e fanout.Event) {
			if e.What == fanout.Stopped {
				close(begun)
			}
		},
	}
	all, stopped := r.Run(t.Context(), []string{"a", "b"})
	if all["a"].Status != fanout.OK || all["b"].Status != fanout.Skipped || stopped == "" {
		t.Errorf("%+v, stopped: %q", all, stopped)
	}
}

// TestFailed: the status and the texts of errors.
func TestFailed(t *testing.T) {
	cases := map[string]struct {
		err        error
		hint       string
		status     fanout.Status
		line, body string
	}{
		"an error": {errors.New("cannot do it\nat all"), "", fanout.Failed, "cannot do it",
			"error: cannot do it\nat all\n"},
		"a hint": {errors.New("cannot"), "Do this\nOr that", fanout.Failed, "cannot",
			"error: cannot\nhint: Do this\n      Or that\n"},
		"SSH": {fmt.Errorf("web1: %w", &ssh.Error{Text: "no route"}), "", fanout.Unreachable, "no route",
			"error: cannot be reached: no route\n"},
		"a lost connection": {fmt.Errorf("web1: %w", wire.ErrLost), "", fanout.Unreachable,
			"web1: " + wire.ErrLost.Error(), "error: web1: " + wire.ErrLost.Error() + "\n"},
		"no connection": {round.Unreachable(fs.ErrPermission), "", fanout.Unreachable, "permission denied",
			"error: permission denied\n"},
	}
	for name, c := range cases {
		o := round.Failed(c.err, c.hint)
		if o.Status != c.status || o.Line != c.line || o.Body != c.body || !errors.Is(o.Err, c.err) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if !errors.Is(round.Unreachable(fs.ErrPermission), fs.ErrPermission) {
		t.Error("the marked error is lost")
	}
}

// TestGroups: the statuses in their order, and one group for texts that differ only in the name.
func TestGroups(t *testing.T) {
	failed := func(text string) round.Outcome { return round.Outcome{Status: fanout.Failed, Body: text} }
	said := failed("hello from e")
	said.Said = true
	all := map[string]round.Outcome{
		"c": failed("no disk on c"), "b": failed("no disk on b"), "d": failed("no power"),
		"e": said, "f": failed("hello from f"),
		"a": {Status: fanout.Skipped, Line: "too many failed"}, "g": {Status: fanout.OK},
	}
	var got []string
	for _, g := range round.Groups(all) {
		got = append(got, fmt.Sprintf("%s %s %q", g.Status, strings.Join(g.Targets, ","), g.Body))
	}
	want := []string{`ok g ""`, `skipped a "too many failed\n"`, `failed b,c "no disk on b"`, `failed d "no power"`,
		`failed e "hello from e"`, `failed f "hello from f"`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := round.Count(all); n[fanout.Failed] != 5 || n[fanout.OK] != 1 || n[fanout.Changed] != 0 {
		t.Errorf("%v", n)
	}
	if r := round.Results(all); len(r) != 7 || r["a"] != "skipped" || r["g"] != "ok" {
		t.Errorf("%v", r)
	}
}

// TestWorse: of equal outcomes the later one.
func TestWorse(t *testing.T) {
	ok := round.Outcome{Status: fanout.OK}
	first, later := round.Failed(errors.New("1"), ""), round.Failed(errors.New("2"), "")
	for _, pair := range [][3]round.Outcome{{ok, first, first}, {first, ok, first}, {first, later, later},
		{{}, ok, ok}} {
		if got := round.Worse(pair[0], pair[1]); got.Line != pair[2].Line {
			t.Errorf("%q and %q: %q", pair[0].Line, pair[1].Line, got.Line)
		}
	}
}
