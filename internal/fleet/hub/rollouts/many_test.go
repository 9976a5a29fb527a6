package rollouts

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
)

// many is a fleet of many targets with 50 modules each, of which 49 are the same for all targets. The targets form
// groups, which have one module of their own.
type many struct {
	tb       testing.TB
	log      *Log
	state    *assign.State
	contents map[string]assign.Contents // compiled commits
	fleet    Fleet
	targets  []fleet.Target
	groups   int
	rev      uint64
	again    func(*Turn, []assign.Desired) // called after each computation; nil means not
}

// manyStrategy grants to a quarter of the targets at the same time.
var manyStrategy = query.Strategy{Name: "many", MaxFailed: "1%", MaxSilent: "1%", MinReady: "90%", MinCoverage: "50%",
	MinReadyTime: 10, ProgressDeadline: 900, SilentAfter: 300, WaveTimeout: 3600, OnBreach: "rollback",
	Waves: []query.StrategyWave{{Name: "first", All: true, Size: "1", MaxUnavailable: "1"},
		{Name: "rest", All: true, MaxUnavailable: "25%"}}}

func group(i int) string { return fmt.Sprintf("modules/g%02d", i) }

func newMany(tb testing.TB, n, groups int) *many {
	m := &many{tb: tb, groups: groups, state: assign.NewState(1, "main"), contents: map[string]assign.Contents{},
		log: NewLog(records.NewMirror[records.StoredRollouts](bustest.NewStore(), "",
			records.ParseRollouts)),
		fleet: Fleet{Now: 1000, Up: 1, Branch: "main", Observed: &Observed{},
			Targets: map[fleet.TargetID]document.Target{}}}
	m.log.mirror.Format = records.FormatRollouts
	for i := range n {
		t := fleet.Target{ID: fleet.TargetID(fmt.Sprintf("t%05d", i)), Name: fmt.Sprintf("h%05d", i), Standing: fleet.Active}
		m.targets = append(m.targets, t)
		m.state.Fold(assign.Event{Rev: 1, Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
		m.fleet.Targets[t.ID] = document.Target{Connected: true, Contact: m.fleet.Now * 1e9}
	}
	return m
}

// compiled returns a commit. It has other content than the head of the branch for the modules in changes.
func (m *many) compiled(number int, changes ...string) assign.Contents {
	c := assign.Contents{Revision: fleet.Revision{Repository: "r", Branch: "main", Commit: fmt.Sprintf("%040d", number)},
		Enrolled: assign.EnrolledDigest(m.targets), Root: fleet.Bundle{Digest: "root"}, Bundles: map[string]fleet.Bundle{},
		Targets: map[string]assign.Configured{}, Strategies: []query.Strategy{manyStrategy}}
	for part, b := range m.fleet.Head.Bundles {
		c.Bundles[part] = b
	}
	lists := make([][]assign.Module, m.groups)
	for i := range lists {
		for k := range 49 {
			lists[i] = append(lists[i], assign.Module{Directory: fmt.Sprintf("modules/m%02d", k)})
		}
		lists[i] = append(lists[i], assign.Module{Directory: group(i)})
		for _, module := range lists[i] {
			if _, ok := c.Bundles[module.Directory]; !ok || slices.Contains(changes, module.Directory) {
				c.Bundles[module.Directory] = fleet.Bundle{Digest: fmt.Sprintf("%s at %d", module.Directory, number), Size: 1}
			}
		}
	}
	for i, t := range m.targets {
		c.Targets[t.Name] = assign.Configured{Modules: lists[i%m.groups], Strategy: "many"}
	}
	return c
}

// commit makes a commit the head of the branch. It has other content for the modules in changes.
func (m *many) commit(number int, changes ...string) {
	c := m.compiled(number, changes...)
	m.fleet.Head, m.contents = c, map[string]assign.Contents{c.Revision.Commit: c}
	m.rev++
	m.state.Fold(assign.Event{Rev: m.rev, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: c.Revision.Commit}})
}

// step decides and computes once, as the hub that leads does, and returns the new assignments.
func (m *many) step() []fleet.Assignment {
	in := m.state.Input(m.fleet.Now, m.contents)
	if missing := assign.Needed(in); len(missing) > 0 {
		m.tb.Fatal(missing)
	}
	turn, err := m.log.Begin(m.tb.Context())
	if err != nil {
		m.tb.Fatal(err)
	}
	defer turn.End()
	var desired []assign.Desired
	in.Plan = func(all []assign.Desired) assign.Grant {
		desired = all
		return turn.Plan(m.fleet, all)
	}
	out := assign.Compute(in)
	if m.again != nil {
		m.again(turn, desired)
	}
	if err := turn.Store(m.tb.Context()); err != nil {
		m.tb.Fatal(err)
	}
	m.state.ApplyOutput(out)
	return out.Assignments
}

// report sets the state of the targets with assignments.
func (m *many) report(state document.State, all ...fleet.Assignment) {
	for _, a := range all {
		m.fleet.Targets[a.Target] = document.Target{Connected: true, Contact: m.fleet.Now * 1e9, State: state,
			Accepted: document.Order{Epoch: a.Epoch, Generation: a.Generation}}
	}
}

// finish continues until no target gets a new assignment, and no rollout is open.
func (m *many) finish() {
	for range 10 * len(m.targets) {
		m.fleet.Now += 11
		m.report(document.Ready, m.step()...)
		if len(m.log.state.Open()) == 0 {
			return
		}
	}
	m.tb.Fatal("the rollouts do not end")
}

// begin returns a fleet in which some rollouts are open. They have granted the change to their first members.
func begin(b *testing.B, targets, open int) *many {
	m := newMany(b, targets, 100)
	m.commit(1)
	m.finish()
	if open == 1 {
		m.commit(2, "modules/m00")
	}
	for i := 0; i < open; i++ {
		if open > 1 {
			m.commit(2+i, group(i))
		}
		m.report(document.Applying, m.step()...)
	}
	if got := len(m.log.state.Open()); got != open {
		b.Fatalf("%d rollouts are open", got)
	}
	return m
}

// cpuTime returns the CPU time of this process, which does not depend on the load of the machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStep measures one decision and computation of the hub that leads: with no rollout, one and many, and after
// no report or the report of one target.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, open := range []int{0, 1, 100} {
			b.Run(fmt.Sprintf("%d targets, %d open", n, open), func(b *testing.B) {
				m := begin(b, n, open)
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					m.step()
				}
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// reportAll sets the state of all targets to ready.
func (m *many) reportAll() {
	for _, a := range m.state.Input(0, nil).Previous {
		m.report(document.Ready, a)
	}
}
