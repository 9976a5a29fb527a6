package local_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/plan"
)

// guardHost is a machine whose programs are told by their names, and what it ran.
// "installed" exists once "install" ran.
type guardHost struct {
	*local.Executor
	h   *mem.Host
	ran []string
}

func newGuardHost(t *testing.T) *guardHost {
	g := &guardHost{}
	g.h = mem.New(mem.Options{Run: g.run})
	x, err := local.New(g.h, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g.Executor = x
	return g
}

func (g *guardHost) run(_ context.Context, h *mem.Host, c host.Command) (host.CommandResult, error) {
	if c.Mutates {
		g.ran = append(g.ran, c.Argv[0])
	}
	no := host.CommandResult{ExitCode: 1}
	switch name := c.Argv[0]; {
	case name == "missing", name == "installed" && !slices.Contains(g.ran, "install"):
		return host.CommandResult{}, fmt.Errorf("cannot run %q: %w", name, fs.ErrNotExist)
	case name == "killed":
		return host.CommandResult{ExitCode: -1, Signal: "killed"}, nil
	case name == "hangs":
		return host.CommandResult{ExitCode: -1, TimedOut: true}, nil
	case name == "false":
		return no, nil
	case name == "test":
		if there, err := host.Exists(h, c.Argv[2]); err != nil || !there {
			return no, err
		}
	}
	return host.CommandResult{}, nil
}

func (g *guardHost) apply(t *testing.T, list string) (*plan.Plan, error) {
	t.Helper()
	g.ran = nil
	p, err := g.Plan(t.Context(), request(t, list))
	if err != nil {
		return p, err
	}
	_, err = g.Apply(t.Context(), request(t, list), p, executor.Options{}, nil)
	return p, err
}

// A guard that cannot run, or that does not end by itself, says neither yes nor no:
// the command does not run, and the error names the guard's program.
func TestGuardWithoutAnAnswer(t *testing.T) {
	for _, key := range []string{"only_if", "unless"} {
		for _, program := range []string{"missing", "killed", "hangs"} {
			g := newGuardHost(t)
			_, err := g.apply(t, "EXEC x cmd "+key+"="+program+"\n")
			if err == nil || !strings.Contains(err.Error(), key+` command "`+program+`"`) || len(g.ran) > 0 {
				t.Errorf("%s=%s: %v, ran %v", key, program, err, g.ran)
			}
		}
		g := newGuardHost(t) // an earlier step could have brought it, and did not
		p, err := g.apply(t, "EXEC other other creates=/never\nEXEC x cmd "+key+"=missing\nEXEC after after\n")
		if err == nil || !strings.Contains(err.Error(), `"missing"`) || !slices.Equal(g.ran, []string{"other"}) {
			t.Errorf("%s=missing after another command: %v, ran %v", key, err, g.ran)
		}
		if p == nil || len(p.Changes) != 3 || !strings.Contains(p.Changes[1].Why, "known after apply") {
			t.Errorf("the plan does not tell that the guard is not known: %+v", p)
		}
	}
}

// A guard whose program an earlier step installs is asked at its turn.
func TestGuardThatIsInstalledFirst(t *testing.T) {
	const list = "EXEC install install unless=false\nEXEC x cmd unless=installed\nEXEC y cmd only_if=installed\n"
	g := newGuardHost(t)
	if _, err := g.apply(t, list); err != nil || !slices.Equal(g.ran, []string{"install", "cmd"}) {
		t.Errorf("ran %v: %v, want install, and y alone", g.ran, err)
	}
}

// An only_if that an earlier step of the run makes true lets the command run in the
// same run. One that stays false does not, and nothing has changed then.
func TestOnlyIfIsAskedAtItsTurn(t *testing.T) {
	g := newGuardHost(t)
	p, err := g.apply(t, "MKDIR /flag\nEXEC x cmd only_if=\"test -e /flag\"\nEXEC y other only_if=false\n")
	if err != nil || !slices.Equal(g.ran, []string{"cmd"}) {
		t.Errorf("ran %v: %v", g.ran, err)
	}
	for _, c := range p.Changes[1:] {
		if c.Action != plan.Run || !strings.Contains(c.Why, "known after apply") {
			t.Errorf("the plan says of %s: %s, %s", c.Addr, c.Action, c.Why)
		}
	}
	st, err := g.Status(t.Context())
	if err != nil || len(st.State.Entries) != 3 {
		t.Errorf("managed are %+v: %v", st.State.Entries, err)
	}
	if p, err = g.apply(t,
		"MKDIR /flag\nEXEC x cmd only_if=\"test -e /none\"\nEXEC y other only_if=false\n"); err != nil || !p.Empty() {
		t.Errorf("without an earlier change the plan is %+v: %v", p, err)
	}
}
