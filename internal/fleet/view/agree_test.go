package view_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

const quiet = 5 * time.Minute

// reportOf returns a report of a target with an assignment about some of its modules.
func reportOf(t *rapid.T, target, seq, revision int, sent time.Time) []byte {
	states := []fleet.Readiness{fleet.ModuleReady, fleet.ModuleReady, fleet.ModuleReady, fleet.ModuleReady,
		fleet.ModuleReady, fleet.ModuleReady, fleet.ModuleFailed, fleet.ModuleDrifted, fleet.ModuleBlocked,
		fleet.ModulePending, fleet.ModuleApplying, fleet.ModuleFrozen, fleet.ModuleDeferred}
	r := fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: uint64(seq), Boot: "b", At: sent.UnixNano(),
		Event: fleet.Event{Kind: fleet.Applied, Run: seq}}
	r.Status.Epoch, r.Status.Generation = 1, uint64(revision)
	for i := range rapid.SampledFrom([]int{0, 1, 2, 2, 2}).Draw(t, "modules") {
		m := fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i), Commit: commit(revision),
			State: rapid.SampledFrom(states).Draw(t, "state"), Since: sent.UnixNano()}
		if m.State == fleet.ModuleFailed {
			m.Error = "no answer"
		}
		r.Status.Modules = append(r.Status.Modules, m)
	}
	if len(r.Status.Modules) == 0 && seq > 1 && rapid.Bool().Draw(t, "part") {
		r.Since = uint64(seq - 1)
	}
	return record(r)
}

// In all situations, lists, details, counts and modules show the same state. Unknown is not ready.
// A target is ready only if all its modules are ready and as assigned, the last contact is recent,
// and it is one host.
func TestViewsAgree(t *testing.T) {
	fewChecks(t, "30")
	rapid.Check(t, func(rt *rapid.T) {
		v := open(t, view.Options{Silence: quiet})
		now, log := at(0), uint64(0)
		seqs, revisions := map[int]int{}, map[int]int{}
		for n := range 3 {
			put(t, v, member(n))
		}
		for range rapid.IntRange(5, 30).Draw(rt, "length") {
			n := rapid.IntRange(0, 2).Draw(rt, "target")
			switch rapid.IntRange(0, 7).Draw(rt, "event") {
			case 0:
				revisions[n]++
				if err := v.PutAssignment(t.Context(), assignment(n, revisions[n], 2)); err != nil {
					rt.Fatal(err)
				}
			case 1, 2:
				seqs[n]++
				log++
				if err := v.Append(t.Context(), log, [][]byte{reportOf(rt, n, seqs[n],
					max(0, revisions[n]-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "old")), now)}); err != nil {
					rt.Fatal(err)
				}
			case 3:
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 100, 400}).Draw(rt, "seconds")) * time.Second)
			case 4:
				v.RecordContact(id(n), now)
			case 5:
				v.RecordConnection(id(n), rapid.Bool().Draw(rt, "connected"))
			case 6:
				one := member(n)
				one.Suspect = &fleet.Suspicion{Reason: "b", Copies: make([]fleet.Copy,
					rapid.SampledFrom([]int{0, 0, 2}).Draw(rt, "hosts"))}
				put(t, v, one)
			case 7:
				remove := rapid.SampledFrom([]func(context.Context, fleet.TargetID) error{v.RemoveTarget,
					v.RemoveAssignment}).Draw(rt, "remove")
				if err := remove(t.Context(), id(n)); err != nil {
					rt.Fatal(err)
				}
			}
			agree(t, rt, v, now)
		}
	})
}

func agree(t *testing.T, rt *rapid.T, v *view.View, now time.Time) {
	ctx := t.Context()
	page, err := v.Targets(ctx, view.TargetQuery{All: true, Now: now})
	status, err1 := v.Status(ctx, now)
	modules, err2 := v.Modules(ctx, now)
	if err != nil || err1 != nil || err2 != nil {
		rt.Fatal(err, err1, err2)
	}
	byID, err := v.ByID(ctx, now)
	if err != nil || len(byID) != len(page.Targets) {
		rt.Fatal(len(byID), err)
	}
	states, counts := map[document.State]int{}, map[string]map[fleet.Readiness]int{}
	for _, target := range page.Targets {
		states[target.State]++
		if !reflect.DeepEqual(target, byID[target.ID]) {
			rt.Fatalf("%s by ID is\n%+v, not\n%+v", target.Name, byID[target.ID], target)
		}
		d, err := v.Target(ctx, string(target.ID), now)
		if err != nil || d.Target.State != target.State {
			rt.Fatalf("%s is %s in the list and %s in its detail, %v", target.Name, target.State, d.Target.State, err)
		}
		unready := 0
		for _, m := range d.Modules {
			if m.Assigned == nil {
				continue
			}
			if counts[m.Module] == nil {
				counts[m.Module] = map[fleet.Readiness]int{}
			}
			counts[m.Module][m.State]++
			if m.State != fleet.ModuleReady {
				unready++
			}
			if target.State == document.Cloned && m.State != view.Unreported {
				rt.Fatalf("%s on %s is %s, and several hosts report as that target", m.Module, target.Name, m.State)
			}
			late := !target.Connected && now.Sub(time.Unix(0, target.Contact)) > quiet
			if m.State == fleet.ModuleReady && (m.Behind || late) {
				rt.Fatalf("%s on %s is ready; behind: %v, silent: %v", m.Module, target.Name, m.Behind, late)
			}
		}
		if cloned := target.Suspect != nil && len(target.Suspect.Copies) > 0; cloned != (target.State == document.Cloned) {
			rt.Fatalf("%s is %s with %+v", target.Name, target.State, target.Suspect)
		}
		if target.State == document.Ready && (unready > 0 || target.Accepted != target.Assigned) {
			rt.Fatalf("%s is ready, and %d of its modules are not; %v, %v", target.Name, unready, target.Accepted,
				target.Assigned)
		}
	}
	if !maps.Equal(states, status.States) {
		rt.Fatalf("the list has %v, and the status %v", states, status.States)
	}
	for _, m := range modules.Modules {
		one, err := v.Module(ctx, view.ModuleQuery{Module: m.Module, Now: now})
		if err != nil {
			rt.Fatal(err)
		}
		ready, err := v.ReadyTargets(ctx, m.Module, now)
		here := map[fleet.Readiness]int{}
		for _, o := range one.Targets {
			if here[o.State]++; err != nil || ready[o.ID] != (o.State == fleet.ModuleReady) {
				rt.Fatalf("%s is %s on %s, and ready: %t, %v", m.Module, o.State, o.Name, ready[o.ID], err)
			}
		}
		if !maps.Equal(m.States, counts[m.Module]) || !maps.Equal(here, m.States) ||
			!maps.Equal(one.Module.States, m.States) {
			rt.Fatalf("%s: the list has %v, its detail %v and %v, its targets %v", m.Module, m.States, one.Module.States, here,
				counts[m.Module])
		}
	}
}
