package exec

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func parse(t *testing.T, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+"\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return l[0]
}

// TestMove: forward runs the command, back its undo, and no undo is nothing.
func TestMove(t *testing.T) {
	var ran []string
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		if ran = append(ran, strings.Join(c.Argv, "|")); !c.Mutates || c.Dir != "/tmp" || c.User != "bob" ||
			!slices.Equal(c.Env, []string{"A=1"}) {
			t.Errorf("it ran %+v", c)
		}
		return host.CommandResult{}, nil
	}})
	ctx := t.Context()
	with := parse(t, `EXEC x /bin/x "a b" cwd=/tmp user=bob env=A=1 undo="/bin/y c"`)
	without := parse(t, `EXEC x /bin/z cwd=/tmp user=bob env=A=1`)
	for _, s := range []step.Step{with, without} {
		to, err := Exec{}.Target(s, image.Image{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join((Exec{}).Move(ctx, verb.Env{Host: h}, s, done(false), to),
			(Exec{}).Move(ctx, verb.Env{Host: h}, s, to, done(false))); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(ran, " "); got != "/bin/x|a b /bin/y|c /bin/z" {
		t.Errorf("it ran %s", got)
	}
	if why := (Exec{}).Irreversible(with, image.Image{}, image.Image{}); why != "" {
		t.Error(why)
	}
	if why := (Exec{}).Irreversible(without, image.Image{},
		image.Image{}); why != "the command has no undo, so its effects stay" {
		t.Error(why)
	}
}

// TestWhatCannotRun: guards that cannot answer, and commands that do not end.
func TestWhatCannotRun(t *testing.T) {
	broken := errors.New("no processes left")
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		switch c.Argv[0] {
		case "/bin/hang":
			return host.CommandResult{ExitCode: -1, TimedOut: true, Stdout: []byte("so far")}, nil
		case "/bin/kill":
			return host.CommandResult{ExitCode: -1, Signal: "killed"}, nil
		case "/bin/none":
			return host.CommandResult{}, fs.ErrNotExist
		}
		return host.CommandResult{}, broken
	}})
	for line, want := range map[string]string{
		`EXEC x /bin/x unless=/bin/hang`: `the unless command "/bin/hang" ` +
			`did not end within its time limit and was killed, so its result is unknown`,
		`EXEC x /bin/x only_if=/bin/fork`: `cannot run the only_if command "/bin/fork": no processes left`,
		`EXEC x /bin/x only_if=/bin/kill`: `the only_if command "/bin/kill" was ended by a signal (killed), so its result is unknown`,
	} {
		if _, err := (Exec{}).Observe(t.Context(), verb.Env{Host: h}, parse(t, line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	var later *verb.NotYetError
	if _, err := (Exec{}).Observe(t.Context(), verb.Env{Host: h},
		parse(t, `EXEC x /bin/x unless=/bin/none`)); !errors.As(err, &later) ||
		!strings.Contains(err.Error(), `"/bin/none"`) {
		t.Errorf("a guard that is not there yet: %v", err)
	}
	if err := Run(t.Context(), h, host.Command{Argv: []string{"/bin/hang", "a b"}}); err == nil ||
		err.Error() != "/bin/hang 'a b' did not end within its time limit and was killed with its child processes:\nso far" {
		t.Error(err)
	}
	if err := Run(t.Context(), h, host.Command{Argv: []string{"/bin/fork"}}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// blind is a machine that cannot be looked at.
type blind struct{ host.Host }

var errBlind = errors.New("a broken disk")

func (blind) Lstat(string) (host.Stat, error) { return host.Stat{}, errBlind }

func TestGuardThatCannotBeSeen(t *testing.T) {
	if _, err := (Exec{}).Observe(t.Context(), verb.Env{Host: blind{programs()}},
		parse(t, `EXEC x /bin/x creates=/f`)); !errors.Is(err, errBlind) {
		t.Error(err)
	}
}
