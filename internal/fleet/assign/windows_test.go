package assign_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/window"
)

// nights opens at 02:00 UTC. The computations of planned are at 00:01:40.
func nights(p *planned, letter string) {
	list := []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 3600, Zone: "UTC"}}
	for name, c := range p.revisions[strings.Repeat(letter, 40)].Targets {
		c.Windows = list
		p.revisions[strings.Repeat(letter, 40)].Targets[name] = c
	}
}

// The first assignment of a target does not wait for a window. A later one does, and the computation is repeated when
// the window opens.
func TestWindows(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	nights(p, "a")
	if got, _ := p.compute(nil); got["web1"] != "a" || got["web2"] != "a" {
		t.Fatalf("the first assignments: %v", got)
	}
	p.commit(2, "b")
	nights(p, "b")
	got, out := p.compute(nil)
	if len(got) > 0 || out.Next != 7200 {
		t.Errorf("outside: %v, again at %d", got, out.Next)
	}
	why := strings.Join(out.Why(idOf("web1"), "modules/web"), "\n")
	if !strings.Contains(why, `outside the window "nights", which opens at 1970-01-01 02:00 UTC`) {
		t.Errorf("web1: %s", why)
	}
	if strings.Contains(why, "without delay") {
		t.Errorf("web1 waits: %s", why)
	}
	in := p.state.Input(7200, p.revisions)
	if out := assign.Compute(in); len(out.Assignments) != 3 || out.Next != 10800 || len(out.Assignments[0].Windows) != 1 {
		t.Errorf("inside: %+v", out)
	}
}

// A plan sees that a target waits for a window. Only a return, which has no windows, does not wait.
func TestWindowsOfAPlan(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	p.compute(nil)
	p.commit(2, "b")
	nights(p, "b")
	got, _ := p.compute(func(all []assign.Desired) assign.Grant {
		for _, d := range all {
			if !d.Closed || d.Kept == "" {
				t.Errorf("%s: %v, %q", d.Target.Name, d.Closed, d.Kept)
			}
		}
		return func(_ *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
			if want.Name == "web1" {
				want.Windows = nil
			}
			return want, "a test"
		}
	})
	if len(got) != 1 || got["web1"] != "b" {
		t.Errorf("%v", got)
	}
}

// A target that must not change for another reason is not closed: it does not change when the window opens.
func TestWindowsOfAFrozenTarget(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	p.compute(nil)
	p.commit(2, "b")
	freeze := func(rev uint64, name string) {
		p.state.Fold(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: name,
			Freeze: &assign.Freeze{Key: name, Targets: []fleet.TargetID{idOf(name)}, Reason: "lunch"}})
	}
	closed := func() string {
		text := ""
		p.compute(func(all []assign.Desired) assign.Grant {
			for _, d := range all {
				text += fmt.Sprintf("%s %t %.12s; ", d.Target.Name, d.Closed, d.Kept)
			}
			return func(was *fleet.Assignment, _ fleet.Assignment) (fleet.Assignment, string) { return *was, "" }
		})
		return text
	}
	freeze(3, "web1")
	if got := closed(); got != "web1 false it is frozen; web2 false ; web3 false ; " {
		t.Errorf("without windows: %s", got)
	}
	nights(p, "b")
	if got := closed(); got != "web1 false it is frozen; web2 true outside the ; web3 true outside the ; " {
		t.Errorf("outside of windows: %s", got)
	}
}

// Targets with equal windows share the list.
func TestTargetsShareWindows(t *testing.T) {
	list := func(name string) []window.Window { return []window.Window{{Name: name}} }
	got := assign.TargetsOf([]query.Target{{Name: "a", Windows: list("x")}, {Name: "b", Windows: list("y")},
		{Name: "c", Windows: list("x")}, {Name: "d", Windows: []window.Window{}}})
	a, b, c := got["a"].Windows, got["b"].Windows, got["c"].Windows
	if &a[0] != &c[0] || &a[0] == &b[0] || b[0].Name != "y" || got["d"].Windows != nil {
		t.Errorf("%+v", got)
	}
}
