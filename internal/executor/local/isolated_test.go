package local_test

import (
	"context"
	"errors"
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

// countingHost is a machine that counts which guards run on it, and which isolated.
type countingHost struct {
	*local.Executor
	h               *mem.Host
	alone, isolated []string
	network         []bool
	cannot, refuse  error
}

func newCountingHost(t *testing.T) *countingHost {
	c := &countingHost{}
	c.h = mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, cmd host.Command) (host.CommandResult, error) {
		if !cmd.Mutates {
			c.alone = append(c.alone, cmd.Argv[0])
		}
		return answer(cmd)
	}})
	x, err := local.New(isolating{c.h, c}, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	c.Executor = x
	return c
}

func answer(cmd host.Command) (res host.CommandResult, err error) {
	if strings.HasSuffix(cmd.Argv[0], "false") {
		res.ExitCode = 1
	}
	return res, nil
}

type isolating struct {
	*mem.Host
	c *countingHost
}

func (i isolating) Isolate(network bool) (host.Isolated, error) {
	if i.c.cannot != nil {
		return nil, i.c.cannot
	}
	i.c.network = append(i.c.network, network)
	return view{i.c}, nil
}

type view struct{ c *countingHost }

func (v view) Run(_ context.Context, cmd host.Command) (host.CommandResult, error) {
	v.c.isolated = append(v.c.isolated, cmd.Argv[0])
	if v.c.refuse != nil {
		return host.CommandResult{}, v.c.refuse
	}
	return answer(cmd)
}

func (v view) Close() error { return nil }

func (c *countingHost) plan(t *testing.T, list string, how executor.Guards) *plan.Plan {
	t.Helper()
	r := request(t, list)
	r.Guards, c.alone, c.isolated, c.network = how, nil, nil, nil
	p, err := c.Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func whyOf(p *plan.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		b.WriteString(string(c.Action) + " " + string(c.Addr) + ": " + c.Why + "\n")
	}
	return b.String()
}

// A plan runs guards isolated by default, on the host or not at all if it is told so.
func TestPlanIsolatesGuards(t *testing.T) {
	const list = "EXEC x cmd unless=true\nEXEC y cmd only_if=false\nEXEC z cmd unless=false\n"
	c := newCountingHost(t)
	p := c.plan(t, list, executor.IsolatedGuards)
	if got := whyOf(p); !slices.Equal(c.isolated, []string{"true", "false", "false"}) || len(c.alone) > 0 ||
		!slices.Equal(c.network, []bool{false}) ||
		got != "adopt exec:x: already in sync\nadopt exec:y: already in sync\nrun exec:z: new in the list\n" {
		t.Errorf("isolated %v, on the host %v, network %v, plan:\n%s", c.isolated, c.alone, c.network, got)
	}
	p = c.plan(t, list, executor.HostGuards)
	if got := whyOf(p); !slices.Equal(c.alone, []string{"true", "false", "false"}) || len(c.isolated) > 0 ||
		strings.Contains(got, "known after") {
		t.Errorf("isolated %v, on the host %v, plan:\n%s", c.isolated, c.alone, got)
	}
	p = c.plan(t, list, executor.NoGuards)
	if got := whyOf(p); len(c.alone)+len(c.isolated) > 0 || strings.Count(got, "run exec:") != 3 ||
		strings.Count(got, "its guard was not run: --no-guards is set (known after apply)") != 3 {
		t.Errorf("isolated %v, on the host %v, plan:\n%s", c.isolated, c.alone, got)
	}
}

// A guard that cannot be isolated, or that misses the network, gives no answer. The plan
// says why, and the run asks at the command's turn.
func TestGuardThatCannotBeIsolated(t *testing.T) {
	for want, set := range map[string]func(*countingHost){
		"a view cannot be opened here": func(
			c *countingHost) {
			c.cannot = errors.New("a view cannot be opened here")
		},
		"it uses the network, which a plan hides": func(c *countingHost) { c.refuse = host.ErrUsesNetwork },
	} {
		c := newCountingHost(t)
		set(c)
		p := c.plan(t, "EXEC x cmd unless=true\n", executor.IsolatedGuards)
		if got := whyOf(p); !strings.HasPrefix(got, "run exec:x: its guard was not run: "+want) || len(c.alone) > 0 {
			t.Errorf("on the host %v, plan:\n%s", c.alone, got)
		}
		rep, err := c.Apply(t.Context(), request(t, "EXEC x cmd unless=true\n"), p, executor.Options{}, nil)
		if err != nil || rep.Changed != 0 || len(c.alone) == 0 {
			t.Errorf("%+v: %v, on the host %v", rep, err, c.alone)
		}
	}
}

// A guard that looks at the state of the network is not asked where it would see another
// one, unless it declares that it needs it.
func TestGuardOfTheNetwork(t *testing.T) {
	for guard, isolated := range map[string]bool{
		`unless="nft list table inet x"`: false, `only_if="sh -c 'test -n \"$(/sbin/ip route)\"'"`: false,
		`unless="grep x /proc/net/dev"`:                     false,
		`unless="nft list table inet x" guard_network=true`: true, `unless="test -e /etc/ip"`: true,
		`unless="sysctl net.ipv4.ip_forward"`: false,
	} {
		c := newCountingHost(t)
		p := c.plan(t, "EXEC x cmd "+guard+"\n", executor.IsolatedGuards)
		if asked := len(c.isolated) == 1; asked != isolated || asked &&
			c.network[0] != strings.Contains(guard, "guard_network") {
			t.Errorf("%s: isolated %v, network %v:\n%s", guard, c.isolated, c.network, whyOf(p))
		}
	}
}

// Where guards cannot be isolated, an apply that has nothing else to do asks them itself. It
// leaves no run if all of their commands are done, and runs those that are not.
func TestApplyOfUnknownGuardsAlone(t *testing.T) {
	const list = "MKDIR /srv\nEXEC x cmd unless=true\n"
	c := newCountingHost(t)
	c.cannot = errors.New("a view cannot be opened here")
	for want := 1; want >= 0; want-- {
		rep, err := c.Apply(t.Context(), request(t, list), nil, executor.Options{}, nil)
		if err != nil || rep.Run != want {
			t.Errorf("run %d, want %d: %v", rep.Run, want, err)
		}
	}
	rep, err := c.Apply(t.Context(), request(t, "MKDIR /srv\nEXEC x cmd unless=false\n"), nil, executor.Options{}, nil)
	if err != nil || rep.Run != 2 || rep.Changed != 1 {
		t.Errorf("%+v: %v", rep, err)
	}
}

// Drift that cannot be told is a note and no difference. A rollback goes by the record.
func TestDriftAndRollbackWithoutGuards(t *testing.T) {
	c := newCountingHost(t)
	if _, err := c.Apply(t.Context(), request(t, "EXEC x cmd unless=true\n"), nil, executor.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), request(t, "EXEC x cmd unless=true\nMKDIR /srv\n"), nil, executor.Options{},
		nil); err != nil {
		t.Fatal(err)
	}
	c.cannot, c.alone = errors.New("a view cannot be opened here"), nil
	p, err := c.Drift(t.Context(), executor.DriftOptions{})
	if err != nil || len(p.Changes) > 0 || len(p.Notes) != 1 ||
		!strings.Contains(p.Notes[0], "exec:x: its guard was not run: a view cannot be opened here") {
		t.Errorf("drift is %s, notes %q: %v", whyOf(p), p.Notes, err)
	}
	p, err = c.PlanRollback(t.Context(), executor.RollbackRequest{To: 1})
	if err != nil || whyOf(p) != "remove dir:/srv: no longer in the list\n" && len(p.Changes) != 1 || len(c.alone) > 0 {
		t.Errorf("the rollback is %s, on the host %v: %v", whyOf(p), c.alone, err)
	}
}
