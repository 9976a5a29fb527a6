package assign_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// guarded is a fleet of targets t00, t01, … and its hub.
type guarded struct {
	t   *testing.T
	w   world
	s   *assign.State
	rev uint64
	now int64
}

func newGuarded(t *testing.T, n int, modules ...string) *guarded {
	t.Helper()
	g := &guarded{t: t, w: world{commits: map[string]revision{}}, s: assign.NewState(1, "main"), now: 1_000_000}
	g.s.MaxPinned = 1000
	for i := range n {
		g.label(i, "a")
	}
	g.push("main", modules...)
	if out := g.compute(); len(out.Assignments) != n || len(out.Alarms) > 0 {
		t.Fatalf("%d assignments, %+v", len(out.Assignments), out.Alarms)
	}
	return g
}

func nameOf(i int) string { return fmt.Sprintf("t%02d", i) }

func (g *guarded) fold(e assign.Event) {
	g.rev++
	e.Rev = g.rev
	g.s.Fold(e)
}

func (g *guarded) label(i int, role string) {
	t := fleet.Target{ID: idOf(nameOf(i)), Name: nameOf(i), Standing: fleet.Active,
		Labels: map[string]string{"role": role}}
	g.fold(assign.Event{Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
}

func (g *guarded) push(ref string, modules ...string) {
	commit := commitOf(fmt.Sprint(ref, modules))
	g.w.commits[commit] = parseModules(modules)
	g.fold(assign.Event{Kind: assign.RefEvent, Key: ref, Ref: &assign.Ref{Commit: commit}})
}

func (g *guarded) pin(i int, ref string, until int64) {
	p := assign.Pin{Key: nameOf(i), Target: idOf(nameOf(i)), Pin: fleet.Pin{Ref: ref, By: "ann", Until: until}}
	g.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
}

func (g *guarded) approve(digest string, at int64) {
	g.fold(assign.Event{Kind: assign.ApprovalEvent, Key: digest,
		Approval: &assign.Approval{Digest: digest, By: "ann", At: at}})
}

// look computes without changing the state.
func (g *guarded) look() assign.Output { return assign.Compute(g.w.input(g.s, g.now)) }

func (g *guarded) compute() assign.Output {
	out := g.look()
	g.s.ApplyOutput(out)
	return out
}

// digest returns the digest of the only alarm of a kind, or "".
func digestOf(out assign.Output, kind assign.AlarmKind) string {
	for _, a := range out.Alarms {
		if a.Kind == kind {
			return a.Digest
		}
	}
	return ""
}

// A module may be removed from a tenth of its targets, or from five, but never from all.
func TestHowMuchASetMayShrink(t *testing.T) {
	for _, c := range []struct {
		was, lost int
		kept      bool
	}{
		{1, 1, true}, {2, 1, false}, {5, 4, false}, {5, 5, true}, {7, 5, false}, {7, 6, true}, {50, 5, false},
		{50, 6, true}, {59, 6, true},
		{60, 6, false}, {60, 7, true}, {63, 7, true}, {69, 7, true}, {70, 7, false}, {90, 9, false}, {90, 10, true},
		{99, 10, true},
	} {
		g := newGuarded(t, c.was, "top=1", "web=1@role=a", "base=1@*")
		for i := range c.lost {
			g.label(i, "b")
		}
		out := g.compute()
		if kept := digestOf(out, assign.MassRemoval) != ""; kept != c.kept {
			t.Errorf("%d of %d are lost, kept: %t", c.lost, c.was, kept)
		}
		if want := c.lost; c.kept && len(out.Assignments) != 0 || !c.kept && len(out.Assignments) != want {
			t.Errorf("%d of %d are lost, and %d get something new", c.lost, c.was, len(out.Assignments))
		}
	}
}

// An approval is valid for the change with its digest for a day. An approval with a time in the
// future is not valid.
func TestWhenApprovalsCount(t *testing.T) {
	shrunk := func() (*guarded, assign.AlarmKind) {
		g := newGuarded(t, 10, "top=1", "web=1@role=a", "base=1@*")
		g.push("main", "top=1", "web=1@role=none", "base=1@*")
		return g, assign.MassRemoval
	}
	pinned := func() (*guarded, assign.AlarmKind) {
		g := newGuarded(t, 10, "top=1", "web=1@role=a")
		g.push("fix", "top=2", "web=2@role=a")
		g.s.MaxPinned = 0
		for i := range 6 {
			g.pin(i, "fix", 0)
		}
		return g, assign.TooManyPinned
	}
	for what, begin := range map[string]func() (*guarded, assign.AlarmKind){"a set": shrunk, "pins": pinned} {
		for _, c := range []struct {
			age    int64
			counts bool
		}{
			{0, true}, {1, true}, {assign.ApprovalValidity - 1, true}, {assign.ApprovalValidity, false},
			{10 * assign.ApprovalValidity, false}, {-1, false}, {-assign.ApprovalValidity, false},
		} {
			g, kind := begin()
			digest := digestOf(g.look(), kind)
			if digest == "" {
				t.Fatalf("%s: there is nothing to approve", what)
			}
			g.approve(digest, g.now-c.age)
			if counts := digestOf(g.look(), kind) == ""; counts != c.counts {
				t.Errorf("%s: an approval %d seconds ago counts: %t", what, c.age, counts)
			}
		}
		g, kind := begin()
		g.approve(digestOf(g.look(), kind)+"x", g.now)
		if digestOf(g.look(), kind) == "" {
			t.Errorf("%s: the approval of something else counts", what)
		}
	}
}

// An approval is valid for exactly its targets. One more target needs a new approval.
func TestApprovalsNameTargets(t *testing.T) {
	g := newGuarded(t, 20, "top=1", "web=1@role=a", "base=1@*")
	for i := range 6 {
		g.label(i, "b")
	}
	first := digestOf(g.look(), assign.MassRemoval)
	g.approve(first, g.now)
	g.label(6, "b")
	if second := digestOf(g.look(), assign.MassRemoval); second == "" || second == first {
		t.Errorf("one more target is lost without a word: %q", second)
	}
}

// Changes because a pin of a whole target begins or ends are intended, and need no approval. A
// pinned target does not hide that all other targets lose a module.
func TestPinsNeedNoApproval(t *testing.T) {
	g := newGuarded(t, 20, "top=1", "web=1@role=a", "base=1@*")
	g.push("fix", "top=2", "base=1@*", "extra=1@*")
	for i := range 12 {
		g.pin(i, "fix", g.now+100)
	}
	if out := g.compute(); digestOf(out, assign.MassRemoval) != "" || len(out.Assignments) != 12 {
		t.Errorf("pins begin: %d assignments, %+v", len(out.Assignments), out.Alarms)
	}
	g.now += 100
	if out := g.compute(); digestOf(out, assign.MassRemoval) != "" || len(out.Assignments) != 12 {
		t.Errorf("pins end: %d assignments, %+v", len(out.Assignments), out.Alarms)
	}
}

// A pin is in force until its end, and a freeze from its start. The hub computes again at these
// times.
func TestWhenPinsAndFreezesHold(t *testing.T) {
	for _, c := range []struct {
		until  int64
		pinned bool
		next   int64
	}{{0, true, 0}, {1, true, 1}, {500, true, 500}} {
		g := newGuarded(t, 1, "top=1", "web=1@role=a")
		g.push("fix", "top=2", "web=2@role=a")
		if c.until != 0 {
			c.until += g.now
		}
		g.pin(0, "fix", c.until)
		out := g.compute()
		if pinned := len(out.Assignments) == 1 && out.Assignments[0].Root.Rollout == assign.PinRollout; pinned != c.pinned ||
			out.Next != 0 && out.Next-g.now != c.next {
			t.Errorf("a pin until %d: %t, again at %d", c.until, pinned, out.Next)
		}
		if c.next == 0 {
			continue
		}
		g.now += c.next
		if out := g.compute(); len(out.Assignments) != 1 || out.Assignments[0].Root.Rollout != "" || out.Next != 0 {
			t.Errorf("at the end of a pin: %+v", out)
		}
	}
	const never = int64(1 << 40)
	for _, c := range []struct {
		from, until int64 // from now
		frozen      bool
		next        int64
	}{{0, never, true, 0}, {-5, 5, true, 5}, {1, never, false, 1}, {1, 9, false, 1}, {-9, 0, false, 0}, {0, 1, true, 1}} {
		g := newGuarded(t, 1, "top=1", "web=1@role=a")
		f := assign.Freeze{Key: "x", Reason: "a feast", From: g.now + c.from}
		if c.until != never {
			f.Until = g.now + c.until
		}
		g.fold(assign.Event{Kind: assign.FreezeEvent, Key: f.Key, Freeze: &f})
		out := g.compute()
		next := out.Next
		if next != 0 {
			next -= g.now
		}
		if frozen := len(out.Assignments) == 1 && out.Assignments[0].Frozen != ""; frozen != c.frozen || next != c.next {
			t.Errorf("a freeze from %d to %d: %t, again in %d", c.from, c.until, frozen, next)
		}
	}
}

// Of two binaries for a target the later setting wins; for equal times the greater key. The targets
// are those that the selection matches now, or the first ones if it can no longer be evaluated.
func TestWhichBinaryCounts(t *testing.T) {
	p := func(key string, at int64, version string, targets []fleet.TargetID, selects ...string) assign.BinarySetting {
		return assign.BinarySetting{Key: key, At: at, Select: selects, Targets: targets,
			Binary: fleet.Binary{Version: version}}
	}
	for what, c := range map[string]struct {
		binaries []assign.BinarySetting
		want     []string // of t00, t01, t02
	}{
		"none": {nil, []string{"", "", ""}},
		"some": {[]assign.BinarySetting{p("a", 1, "1", nil, "t01")}, []string{"", "1", ""}},
		"the later": {[]assign.BinarySetting{p("a", 2, "2", nil, "t01"), p("b", 1, "1", nil, "t0*")},
			[]string{"1", "2", "1"}},
		"the later is for all": {[]assign.BinarySetting{p("a", 1, "1", nil, "t01"), p("b", 2, "2", nil, "t0*")},
			[]string{"2", "2", "2"}},
		"at once": {[]assign.BinarySetting{p("b", 1, "2", nil, "t01"), p("a", 1, "1", nil, "t01")},
			[]string{"", "2", ""}},
		"an earlier greater key": {[]assign.BinarySetting{p("z", 1, "1", nil, "t01"), p("a", 2, "2", nil, "t01")},
			[]string{"", "2", ""}},
		"by label": {[]assign.BinarySetting{p("a", 1, "1", []fleet.TargetID{idOf("t00")}, "label:role=b")},
			[]string{"", "", "1"}},
		"somebody has gone": {[]assign.BinarySetting{p("a", 1, "1", []fleet.TargetID{idOf("t00")}, "t00", "gone")},
			[]string{"1", "", ""}},
		"not to be read": {[]assign.BinarySetting{p("a", 1, "1", []fleet.TargetID{idOf("t02")}, "label:")},
			[]string{"", "", "1"}},
	} {
		for range 2 {
			g := newGuarded(t, 3, "top=1")
			g.label(2, "b")
			for i := range c.binaries {
				g.fold(assign.Event{Kind: assign.BinaryEvent, Key: c.binaries[i].Key, Binary: &c.binaries[i]})
			}
			got := []string{"", "", ""}
			in := g.w.input(g.s, g.now)
			in.Previous = nil
			in.Binaries = slices.Clone(c.binaries)
			for _, a := range assign.Compute(in).Assignments {
				if a.Binary != nil {
					got[slices.Index([]string{"t00", "t01", "t02"}, a.Name)] = a.Binary.Version
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", what, got, c.want)
			}
			slices.Reverse(c.binaries)
		}
	}
}

// A twentieth of the active targets may be pinned, but at least three, unless a limit is set.
// Further pins wait, and pins in force stay.
func TestHowManyMayBePinned(t *testing.T) {
	for _, c := range []struct{ targets, max, bound int }{{10, 0, 3}, {79, 0, 3}, {80, 0, 4}, {99, 0, 4}, {100, 0, 5},
		{10, 1, 1}, {10, 7, 7}} {
		g := newGuarded(t, c.targets, "top=1", "web=1@role=a")
		g.s.MaxPinned = c.max
		for i := range 40 { // who is not active counts for nothing
			x := fleet.Target{ID: idOf(fmt.Sprint("x", i)), Name: fmt.Sprint("x", i), Standing: fleet.Retired}
			g.fold(assign.Event{Kind: assign.TargetEvent, Key: string(x.ID), Target: &x})
		}
		g.push("fix", "top=2", "web=2@role=a")
		for i := range c.bound {
			g.pin(c.targets-1-i, "fix", 0)
		}
		if out := g.compute(); len(out.Assignments) != c.bound || digestOf(out, assign.TooManyPinned) != "" {
			t.Errorf("%+v: %d targets get what they are pinned to, %+v", c, len(out.Assignments), out.Alarms)
		}
		g.pin(c.targets-1-c.bound, "fix", 0)
		g.push("fix", "top=3", "web=3@role=a")
		if out := g.compute(); len(out.Assignments) != c.bound || digestOf(out, assign.TooManyPinned) == "" {
			t.Errorf("%+v, and one more: %d targets get something new, %+v", c, len(out.Assignments), out.Alarms)
		}
	}
}
