package assign_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// history is a random fleet with its hub.
type history struct {
	t      *rapid.T
	w      world
	s      *assign.State
	now    int64
	rev    uint64
	latest map[string]assign.Event // by what and key: what a registry has
	tick   []assign.Event          // since the last one
	alarms []assign.Alarm
	issued map[string]bool // target, epoch, generation
	has    map[fleet.TargetID]fleet.Assignment
	seen   *counts
	// compiled are the commits of the last computation.
	compiled map[string]assign.Contents
}

// counts show that the random histories contain all operations.
type counts struct{ ticks, assignments, suspects, approvals, rebuilds, withdrawn, pinned, frozen, behind, versions int }

// For all histories of a fleet: an unchanged target gets no new generation, generations increase by
// one and are never issued twice, every bundle belongs to its revision, all needed modules exist,
// and no set of targets shrinks much without an approval.
func TestHistories(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		n := "500"
		if os.Getenv("FETTLE_LONG") != "" {
			n = "20000"
		}
		old := checks.Value.String()
		_ = flag.Set("rapid.checks", n)
		defer func() { _ = flag.Set("rapid.checks", old) }()
	}
	seen := &counts{}
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, w: world{commits: map[string]revision{}}, s: assign.NewState(1, "main"), now: 1_000_000,
			latest: map[string]assign.Event{},
			issued: map[string]bool{}, has: map[fleet.TargetID]fleet.Assignment{}, seen: seen}
		h.push("main")
		for range rapid.IntRange(5, 40).Draw(t, "length") {
			h.step()
			if draw(t, "then", false, true) {
				h.compute()
			}
		}
		h.compute()
	})
	t.Logf("%+v", *seen)
	if seen.suspects == 0 || seen.approvals == 0 || seen.withdrawn == 0 || seen.pinned == 0 || seen.frozen == 0 ||
		seen.behind == 0 || seen.rebuilds == 0 || seen.versions == 0 {
		t.Error("the histories leave something out")
	}
}

func draw[T any](t *rapid.T, what string, of ...T) T { return rapid.SampledFrom(of).Draw(t, what) }

func (h *history) fold(e assign.Event) {
	h.rev++
	e.Rev = h.rev
	h.s.Fold(e)
	h.latest[string(e.Kind)+" "+e.Key] = e
	h.tick = append(h.tick, e)
}

func (h *history) step() {
	switch draw(h.t, "step", "target", "target", "target", "target", "push", "push", "many", "lost", "pin", "unpin", "mix",
		"freeze", "thaw", "approve", "tick", "tick", "tick", "floor", "rebuild", "epoch") {
	case "target":
		h.target(h.name(), draw(h.t, "role", "a", "a", "b", "c"))
	case "many":
		role := draw(h.t, "role", "a", "b", "c")
		for i := range 14 {
			h.target(fmt.Sprintf("t%02d", i+1), role)
		}
	case "push":
		h.push(h.ref())
	case "lost":
		h.fold(assign.Event{Kind: assign.RefEvent, Key: h.ref(), Ref: &assign.Ref{Error: "it is not there"}})
	case "pin":
		h.pin()
	case "mix":
		h.mix()
	case "unpin":
		h.fold(assign.Event{Kind: assign.PinEvent, Key: h.name()})
	case "freeze":
		f := assign.Freeze{Key: draw(h.t, "freeze", "x", "y"), Reason: "a feast", By: draw(h.t, "by", "ann", "bob"),
			Until: h.now + int64(rapid.IntRange(0, 3).Draw(h.t, "hours"))*3600}
		if draw(h.t, "whom", true, false) {
			f.Targets = []fleet.TargetID{idOf(h.name())}
		}
		h.fold(assign.Event{Kind: assign.FreezeEvent, Key: f.Key, Freeze: &f})
		h.seen.frozen++
	case "thaw":
		h.fold(assign.Event{Kind: assign.FreezeEvent, Key: draw(h.t, "freeze", "x", "y")})
	case "approve":
		for _, a := range h.alarms {
			if a.Digest != "" {
				h.fold(assign.Event{Kind: assign.ApprovalEvent, Key: a.Digest,
					Approval: &assign.Approval{Digest: a.Digest, By: "ann", At: h.now}})
				h.seen.approvals++
			}
		}
	case "tick":
		h.now += int64(rapid.IntRange(0, 4000).Draw(h.t, "seconds"))
		h.compute()
	case "floor":
		h.floor()
	case "rebuild":
		h.rebuild()
	case "epoch":
		h.s.Begin(h.s.Epoch + 1)
	}
}

func (h *history) target(name, role string) {
	t := fleet.Target{ID: idOf(name), Name: name, Labels: map[string]string{"role": role},
		Standing: draw(h.t, "standing", fleet.Active, fleet.Active, fleet.Active, fleet.Active, fleet.Retired,
			fleet.Revoked, fleet.Pending)}
	if draw(h.t, "gone", false, false, false, false, false, false, false, true) {
		h.fold(assign.Event{Kind: assign.TargetEvent, Key: string(t.ID)})
		return
	}
	h.fold(assign.Event{Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
}

func (h *history) push(ref string) {
	r := revision{top: draw(h.t, "top", "1", "2"), modules: map[string]module{}}
	for _, m := range []string{"base", "web", "db"} {
		if draw(h.t, "there", true, true, true, false) {
			x := module{content: draw(h.t, "content", "1", "2", "1.0", "2.0"),
				selector: draw(h.t, "selector", "*", "role=a", "role=b", "role=none")}
			if m != "base" && draw(h.t, "needs", true, false) {
				x.needs = []string{draw(h.t, "constraint", "base", "base", "base:<2", "base:>=1")}
			}
			r.modules[m] = x
		}
	}
	commit := commitOf(fmt.Sprintf("%s %d", ref, h.rev))
	if draw(h.t, "broken", false, false, false, false, true) {
		r.broken = "it does not parse"
	}
	h.w.commits[commit] = r
	h.fold(assign.Event{Kind: assign.RefEvent, Key: ref, Ref: &assign.Ref{Commit: commit}})
}

func (h *history) pin() {
	name := h.name()
	p := assign.Pin{Key: draw(h.t, "key", name, name+"-2"), Target: idOf(name),
		Pin: fleet.Pin{Ref: h.ref(), By: "ann", Module: draw(h.t, "module", "", "modules/web", "modules/base")}}
	if draw(h.t, "ends", true, false) {
		p.Until = h.now + 2000
	}
	h.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
}

// floor reports the assignment of an agent: its present one, or one that this hub does not have.
func (h *history) floor() {
	id := idOf(h.name())
	have := fleet.Have{Epoch: h.has[id].Epoch, Generation: h.has[id].Generation}
	if draw(h.t, "ahead", false, false, true) {
		have.Generation += 3
		h.seen.behind++
	}
	h.fold(assign.Event{Kind: assign.MinimumGenerationEvent, Key: string(id), MinimumGeneration: &have})
}

// rebuild is a hub that lost its store: it gets the registry and the repository again, but the
// assignments only from agents.
func (h *history) rebuild() {
	h.seen.rebuilds++
	s := assign.NewState(h.s.Epoch+1, "main")
	for _, e := range h.latest {
		s.Fold(e)
	}
	for id, a := range h.has {
		s.Fold(assign.Event{Kind: assign.MinimumGenerationEvent, Key: string(id),
			MinimumGeneration: &fleet.Have{Epoch: a.Epoch, Generation: a.Generation}})
	}
	h.s = s
}

// compute is one tick with all checks.
func (h *history) compute() {
	h.seen.ticks++
	in := h.input()
	out := assign.Compute(in)
	h.anyOrder(in, out)
	h.fromRegistry(out)
	h.guarded(in, out)
	for _, a := range out.Assignments {
		h.assigned(in, a)
	}
	for _, a := range out.Alarms {
		if a.Kind == assign.MassRemoval {
			h.seen.suspects++
		}
	}
	h.alarms = out.Alarms
	h.s.ApplyOutput(out)
	for _, a := range out.Assignments {
		h.has[a.Target] = a
	}
	if again := assign.Compute(h.input()); len(again.Assignments) > 0 {
		h.t.Fatalf("computed once more, targets get new generations: %s", text(again.Assignments))
	}
	h.tick = nil
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// input keeps the compiled commits, as a hub does.
func (h *history) input() assign.Input {
	in := h.w.input(h.s, h.now)
	for commit, c := range in.Revisions {
		if kept, ok := h.compiled[commit]; ok && kept.Enrolled == c.Enrolled {
			in.Revisions[commit] = kept
		}
	}
	h.compiled = maps.Clone(in.Revisions)
	return in
}

// anyOrder: the order of targets and of the events of a tick has no effect.
func (h *history) anyOrder(in assign.Input, out assign.Output) {
	other := in
	other.Targets = rapid.Permutation(in.Targets).Draw(h.t, "targets")
	other.Pins = rapid.Permutation(in.Pins).Draw(h.t, "pins")
	other.Freezes = rapid.Permutation(in.Freezes).Draw(h.t, "freezes")
	if got, want := text(assign.Compute(other)), text(out); got != want {
		h.t.Fatalf("in another order it is\n%s\nwas\n%s", got, want)
	}
}

// fromRegistry: a hub that reads everything again, in any order and partly twice, gets the same
// state and computes the same.
func (h *history) fromRegistry(out assign.Output) {
	s := assign.NewState(h.s.Epoch, "main")
	events := slices.Collect(maps.Values(h.latest))
	slices.SortFunc(events, func(a, b assign.Event) int {
		return strings.Compare(string(a.Kind)+a.Key,
			string(b.Kind)+b.Key)
	})
	events = append(events, h.tick...)
	for id, f := range h.s.Input(h.now, nil).MinimumGenerations { // agents say it again
		events = append(events, assign.Event{Kind: assign.MinimumGenerationEvent, Key: string(id), MinimumGeneration: &f})
	}
	for _, e := range rapid.Permutation(events).Draw(h.t, "events") {
		s.Fold(e)
	}
	for _, a := range h.s.Input(h.now, nil).Previous {
		s.Fold(assign.Event{Kind: assign.AssignmentEvent, Key: string(a.Target), Assignment: &a})
	}
	if string(s.Marshal()) != string(h.s.Marshal()) {
		h.t.Fatalf("read anew the state is\n%s\nwas\n%s", s.Marshal(), h.s.Marshal())
	}
	if got, want := text(assign.Compute(h.w.input(s, h.now))), text(out); got != want {
		h.t.Fatalf("of what was read anew comes\n%s\nwas\n%s", got, want)
	}
}

// assigned checks one new assignment.
func (h *history) assigned(in assign.Input, a fleet.Assignment) {
	h.seen.assignments++
	old, floor := in.Previous[a.Target], in.MinimumGenerations[a.Target]
	ahead := floor.Epoch > old.Epoch || floor.Epoch == old.Epoch && floor.Generation > old.Generation
	if a.Same(old) && !ahead {
		h.t.Fatalf("%s gets a new generation of the same", a.Name)
	}
	high := fleet.Have{Epoch: old.Epoch, Generation: old.Generation}
	if ahead {
		high = floor
	}
	switch {
	case a.Epoch < high.Epoch || a.Epoch == high.Epoch && a.Generation != high.Generation+1 || a.Epoch > high.Epoch &&
		a.Generation != 1:
		h.t.Fatalf("after %d.%d %s gets %d.%d", high.Epoch, high.Generation, a.Name, a.Epoch, a.Generation)
	case a.Newer(h.has[a.Target]) <= 0:
		h.t.Fatalf("%s goes back to %d.%d", a.Name, a.Epoch, a.Generation)
	}
	key := fmt.Sprintf("%s %d.%d", a.Target, a.Epoch, a.Generation)
	if h.issued[key] {
		h.t.Fatalf("%s is issued again", key)
	}
	h.issued[key] = true
	if _, err := fleet.ParseAssignment(a.Marshal()); err != nil {
		h.t.Fatal(err)
	}
	h.content(a)
	h.revision(in, a, old)
}

// revision: if a part changes, the root bundle has the commit that the target follows.
func (h *history) revision(in assign.Input, a, old fleet.Assignment) {
	same := a.Root.Bundle == old.Root.Bundle && fleet.SameModules(a.Modules, old.Modules)
	r := a.Root.Revision
	if a.Withdrawn != "" || same {
		return
	}
	if want := in.Refs[r.Branch].Commit; r.Commit != want {
		h.t.Fatalf("%s gets changed parts of %s and is assigned %s", a.Name, want, r.Commit)
	}
}

// content: every bundle belongs to its revision, and needed modules exist.
func (h *history) content(a fleet.Assignment) {
	if a.Withdrawn != "" {
		h.seen.withdrawn++
		if len(a.Modules) > 0 {
			h.t.Fatalf("%s is withdrawn and has %s", a.Name, text(a.Modules))
		}
		return
	}
	if r := h.w.commits[a.Root.Revision.Commit]; a.Root.Bundle != bundleOf("", r.top) {
		h.t.Fatalf("%s gets a top that %s does not have", a.Name, a.Root.Revision.Commit)
	}
	there := map[string]bool{}
	for _, m := range a.Modules {
		there[m.Module] = true
		name := strings.TrimPrefix(m.Module, "modules/")
		r, ok := h.w.commits[m.Revision.Commit].modules[name]
		if !ok || m.Bundle != bundleOf(name, r.text()) {
			h.t.Fatalf("%s gets %s, which %s does not have", a.Name, m.Module, m.Revision.Commit)
		}
		if m.Rollout == assign.PinRollout {
			h.seen.pinned++
		}
	}
	for _, m := range a.Modules {
		for _, n := range m.Needs {
			if !there[n.Module] {
				h.t.Fatalf("%s gets %s, which needs %s", a.Name, m.Module, n.Module)
			}
		}
	}
	h.versions(a)
}

// guarded: without an approval, no module is removed from all or many of its targets.
func (h *history) guarded(in assign.Input, out assign.Output) {
	if len(in.Approvals) > 0 {
		return
	}
	after := maps.Clone(in.Previous)
	for _, a := range out.Assignments {
		after[a.Target] = a
	}
	was, now, lost := map[string]int{}, map[string]int{}, map[string]int{}
	for _, t := range in.Targets {
		if t.Standing != fleet.Active {
			continue
		}
		before, later := in.Previous[t.ID], after[t.ID]
		has := map[string]bool{}
		for _, m := range later.Modules {
			has[m.Module] = true
			now[m.Module]++
		}
		if before.Root.Rollout == assign.PinRollout || later.Root.Rollout == assign.PinRollout {
			continue
		}
		for _, m := range before.Modules {
			if was[m.Module]++; !has[m.Module] {
				lost[m.Module]++
			}
		}
	}
	for m, n := range lost {
		if now[m] == 0 || n > max(was[m]/10, 5) {
			h.t.Fatalf("%s loses %d of %d targets and has %d", m, n, was[m], now[m])
		}
	}
}
