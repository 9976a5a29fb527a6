package assign_test

import (
	"fmt"
	"maps"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// large is a fleet of 10,000 targets in ten groups with 50 modules each. Some targets are pinned,
// and a commit changes a module of all targets.
func large(b *testing.B) (w world, s *assign.State) {
	b.Helper()
	w, s = world{commits: map[string]revision{}}, assign.NewState(1, "main")
	modules := map[string]module{}
	for i := range 140 {
		m := module{content: "1", selector: "*"}
		if i >= 40 {
			m.selector = fmt.Sprintf("group=%d", i%10)
		}
		if i > 0 {
			m.needs = []string{"m000"}
		}
		modules[fmt.Sprintf("m%03d", i)] = m
	}
	w.commits[commitOf("a1")] = revision{top: "1", modules: modules}
	changed := map[string]module{}
	for name, m := range modules {
		changed[name] = m
	}
	changed["m000"] = module{content: "2", selector: "*"}
	w.commits[commitOf("a2")] = revision{top: "1", modules: changed}
	for i := range 10_000 {
		t := fleet.Target{ID: idOf(fmt.Sprint(i)), Name: fmt.Sprintf("h%05d", i), Standing: fleet.Active,
			Labels: map[string]string{"group": fmt.Sprint(i % 10)}}
		if i%100 == 0 {
			t.Pin = &fleet.Pin{Module: "modules/m001", Ref: "fix", By: "ann"}
		}
		s.Fold(assign.Event{Rev: 1, Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
	}
	s.Fold(assign.Event{Rev: 1, Kind: assign.RefEvent, Key: "fix", Ref: &assign.Ref{Commit: commitOf("a1")}})
	s.Fold(assign.Event{Rev: 1, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commitOf("a1")}})
	return w, s
}

// share gives targets with the same modules the same slice, as TargetsOf does.
func share(in assign.Input) assign.Input {
	for commit, c := range in.Revisions {
		first := map[string][]assign.Module{}
		for name, conf := range c.Targets {
			g := conf.Labels["group"]
			if first[g] == nil {
				first[g] = conf.Modules
			}
			conf.Modules = first[g]
			c.Targets[name] = conf
		}
		in.Revisions[commit] = c
	}
	return in
}

// BenchmarkCompute computes a fleet without changes, a fleet in which each target gets a new
// assignment, and a fleet without any earlier assignment.
func BenchmarkCompute(b *testing.B) {
	w, s := large(b)
	begin := share(w.input(s, 1))
	out := assign.Compute(begin)
	if len(out.Assignments) != 10_000 || len(out.Assignments[1].Modules) != 50 {
		b.Fatal(len(out.Assignments), len(out.Alarms))
	}
	begin.Previous = nil
	s.ApplyOutput(out)
	quiet := share(w.input(s, 2))
	quiet.Refs = maps.Clone(quiet.Refs)
	s.Fold(assign.Event{Rev: 2, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commitOf("a2")}})
	push := share(w.input(s, 3))
	for _, c := range []struct {
		name string
		in   assign.Input
		want int
	}{{"all", begin, 10_000}, {"nothing", quiet, 0}, {"push", push, 10_000}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := assign.Compute(c.in); len(out.Assignments) != c.want {
					b.Fatal(len(out.Assignments), out.Alarms)
				}
			}
		})
	}
}
