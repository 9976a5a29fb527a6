package machine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

const target = fleet.TargetID("aaaaaaaaaaaaaaaaaaaaaaaaaa")

func bundle(name, version string) fleet.Bundle {
	sum := sha256.Sum256([]byte(name + version))
	return fleet.Bundle{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: 1}
}

// assignment makes an assignment of modules in the form
// "modules/NAME=VERSION<NEED:LEVEL<NEED:LEVEL".
func assignment(generation uint64, modules ...string) fleet.Assignment {
	rev := fleet.Revision{Repository: "r", Commit: strings.Repeat("a", 40)}
	a := fleet.Assignment{
		Format: fleet.AssignmentFormat, Target: target, Name: "web1", Epoch: 1, Generation: generation,
		Root: fleet.Assigned{Revision: rev, Bundle: bundle("", "top")},
	}
	for _, text := range modules {
		head, needs, _ := strings.Cut(text, "<")
		name, version, _ := strings.Cut(head, "=")
		as := fleet.Assigned{Module: name, Revision: rev, Bundle: bundle(name, version)}
		for _, n := range strings.FieldsFunc(needs, func(r rune) bool { return r == '<' }) {
			need, level, _ := strings.Cut(n, ":")
			as.Needs = append(as.Needs, fleet.Need{Module: need, Level: fleet.Level(level)})
		}
		a.Modules = append(a.Modules, as)
	}
	return a
}

// world simulates the driver of an agent, its disk and its hub.
type world struct {
	m    *machine.Machine
	cfg  machine.Config
	now  machine.Now
	boot int

	// The disk.
	kept   machine.StoredState
	outbox map[uint64]fleet.Report
	store  map[string]bool // bundles, by digest
	// budget is the number of actions before a power failure; below 0: none.
	budget int

	// Operations in progress.
	run   *machine.Run
	fetch *machine.Fetch
	ask   bool
	send  uint64
	renew bool
	act   *machine.RunJob
	end   *fleet.JobAnswer
	wake  time.Duration
	// scopes is the composition whose checks are tested.
	scopes *fleet.Assignment
	did    []machine.Action

	// The hub and its data.
	up      bool
	all     []fleet.Assignment
	heard   []fleet.Report
	answers map[string]int
	taken   map[string]bool            // jobs that the agent acknowledged
	begun   map[string]bool            // jobs whose command ran
	ended   map[string]fleet.JobAnswer // results that the hub has
	steps   int
	event   machine.Event // of the current step
	// disk is the last written state, "" for none. healing is set while all operations succeed.
	disk    string
	healing bool
	wrong   []string
}

func newWorld() *world {
	w := &world{outbox: map[uint64]fleet.Report{}, store: map[string]bool{}, budget: -1, answers: map[string]int{},
		taken: map[string]bool{}, begun: map[string]bool{}, ended: map[string]fleet.JobAnswer{},
		cfg: machine.Config{Target: target, Version: "1"}}
	w.now.Wall = int64(1_700_000_000 * time.Second)
	w.start()
	return w
}

func (w *world) fault(format string, a ...any) { w.wrong = append(w.wrong, fmt.Sprintf(format, a...)) }

// durable returns the state on disk.
func (w *world) durable() machine.StoredState { return w.kept }

// write stores the current state.
func (w *world) write(k *machine.StoredState) {
	b, err := json.Marshal(k)
	w.kept = machine.StoredState{}
	if err = errors.Join(err, json.Unmarshal(b, &w.kept)); err != nil {
		w.fault("%v", err)
	}
}

// copied returns a deep copy.
func (w *world) copied() machine.StoredState {
	k := w.kept
	w.write(&k)
	k, w.kept = w.kept, k
	return k
}

// start starts a new process. All operations in progress are lost.
func (w *world) start() {
	w.boot++
	w.now.Mono = 0
	w.run, w.fetch, w.ask, w.send, w.renew, w.act, w.end, w.budget, w.scopes = nil, nil, false, 0,
		false, nil, nil, -1, nil
	w.cfg.Boot = fmt.Sprint(w.boot)
	newest, oldest := uint64(0), uint64(0)
	for seq := range w.outbox {
		newest = max(newest, seq)
		if oldest == 0 || seq < oldest {
			oldest = seq
		}
	}
	w.m = machine.New(w.cfg, w.copied(), newest, max(oldest, 1)-1)
	w.step(machine.Started{})
	if w.up {
		w.step(machine.Link{Up: true})
	}
}

// step executes the actions of the machine, until the power fails.
func (w *world) step(e machine.Event) {
	w.steps++
	w.event = e
	actions := w.m.Step(e, w.now)
	w.checkOrder(actions)
	for _, a := range actions {
		if w.budget == 0 {
			w.start()
			return
		}
		w.budget--
		w.do(a)
	}
	w.checkKept(e)
	if k := w.durable(); fmt.Sprint(bundles(w.scopes)) != fmt.Sprint(bundles(k.Applied)) {
		w.fault("after %T the scopes of another composition are tested", e)
	}
}

func (w *world) do(a machine.Action) {
	w.did = append(w.did, a)
	switch a := a.(type) {
	case machine.Persist:
		if onDisk(*a.State) == w.disk && !w.healing && !failedRun(w.event) {
			w.fault("after %#v it writes what is on the disk already", w.event)
		}
		w.disk = onDisk(*a.State)
		before := w.durable()
		w.write(a.State)
		if now := w.durable(); before.Accepted != nil && now.Accepted.Newer(*before.Accepted) < 0 {
			w.fault("the accepted assignment went back")
		}
	case machine.Append:
		newest := uint64(0)
		for seq := range w.outbox {
			newest = max(newest, seq)
		}
		if a.Report.Seq != newest+1 && a.Report.Seq != newest {
			w.fault("report %d follows %d", a.Report.Seq, newest)
		}
		w.outbox[a.Report.Seq] = a.Report
	case machine.Drop:
		newest := slices.Max(slices.Collect(maps.Keys(w.outbox)))
		maps.DeleteFunc(w.outbox, func(seq uint64, _ fleet.Report) bool { return seq <= a.Seq && seq < newest })
	case machine.Run:
		w.checkWindow(a)
		w.began(a)
	case machine.Fetch:
		if w.fetch != nil {
			w.fault("two fetches at a time")
		}
		w.fetch = &a
	case machine.Retain:
		maps.DeleteFunc(w.store, func(digest string, _ bool) bool { return !slices.Contains(a.Digests, digest) })
	case machine.Ask:
		if w.ask {
			w.fault("two questions for an assignment at a time")
		}
		w.ask = true
	case machine.Send:
		if w.send != 0 {
			w.fault("two reports are sent at a time")
		}
		w.send = a.Seq
	case machine.AcknowledgeJob:
		if a.Answer.Error == "" {
			if !slices.Contains(w.durable().FinishedJobs, a.Answer.ID) {
				w.fault("request %s is acknowledged and forgotten", a.Answer.ID)
			}
			w.answers[a.Answer.ID]++
			w.taken[a.Answer.ID] = w.taken[a.Answer.ID] || a.Answer.Accepted
		}
	case machine.RunJob:
		w.acts(a)
	case machine.SendJobAnswer:
		if w.end != nil {
			w.fault("two ends are told at a time")
		}
		w.end = &a.Answer
	case machine.Renew:
		if w.renew {
			w.fault("two renewals at a time")
		}
		w.renew = true
	case machine.ReadScopes:
		w.scopes = a.Has
	case machine.Wake:
		w.wake = a.In
	}
}

func bundles(a *fleet.Assignment) map[string]fleet.Bundle {
	out := map[string]fleet.Bundle{}
	if a != nil {
		out[""] = a.Root.Bundle
		for _, as := range a.Modules {
			out[as.Module] = as.Bundle
		}
	}
	return out
}

// unproved reports whether a module waited for another assignment, which did not come to be applied. Only a run
// shows that it is ready.
func unproved(k machine.StoredState) bool {
	for _, s := range k.Modules {
		if s.State == fleet.ModulePending {
			return true
		}
	}
	return false
}

// began checks the laws of runs.
func (w *world) began(r machine.Run) {
	for name, b := range bundles(&r.Want) {
		if !w.store[b.Digest] {
			w.fault("a run begins, and the bundle of %q is not here, or was thrown away", name)
		}
	}
	if w.run != nil {
		w.fault("two runs at a time")
	}
	if w.act != nil && !quiet(w.act.Job) {
		w.fault("a run begins beside what a request runs")
	}
	w.run = &r
	k := w.durable()
	good := bundles(k.Applied)
	fresh := fmt.Sprint(good) != fmt.Sprint(bundles(&r.Want))
	switch {
	case r.Look:
	case fresh && (k.Accepted == nil || r.Want.Newer(*k.Accepted) != 0):
		w.fault("a run begins for %d.%d, which is not the newest that is durable", r.Want.Epoch, r.Want.Generation)
	case !fresh && k.Attempts.Count == 0 && (r.Cause == machine.Assigned && k.Error == "" && !unproved(k) ||
		r.Cause == machine.Retry):
		w.fault("a run because of %s, and nothing is new", r.Cause)
	case fresh && !k.Attempts.Open:
		w.fault("a run begins and it is not on the disk")
	}
	if fresh && !r.Look {
		w.checkNeeds(k, r, good)
	}
}

// checkNeeds: a module in a run has its needs, as far as bundles show it.
func (w *world) checkNeeds(k machine.StoredState, r machine.Run, good map[string]fleet.Bundle) {
	assigned := bundles(k.Accepted)
	for _, as := range r.Want.Modules {
		if good[as.Module] == as.Bundle {
			continue
		}
		for _, n := range as.Needs {
			have, ok := good[n.Module]
			if !ok || n.Level == fleet.Exact && have != assigned[n.Module] {
				w.fault("%s goes on, and %s is not %s", as.Module, n.Module, n.Level)
			}
			if s := k.Modules[n.Module]; n.Level != fleet.Completed && (s.Drift > 0 || s.Inconsistent) {
				w.fault("%s goes on, and %s is not available", as.Module, n.Module)
			}
		}
	}
}

// endRun ends the current run. A run that was ordered to check, or that changed something, has
// executed the checks.
func (w *world) endRun(o machine.Outcome) {
	if w.run == nil {
		return
	}
	o.Checked = o.Result == machine.Done && (w.run.Checks || o.Changes > 0 || o.Repaired > 0)
	w.run = nil
	w.step(machine.Ran{Outcome: o})
}

// elapse advances the clock, and wakes the machine at its requested time.
func (w *world) elapse(d time.Duration) {
	w.now.Wall += int64(d)
	w.now.Mono += d
	w.step(machine.Tick{})
}

// heal completes all operations successfully, until the machine is idle for some time.
func (w *world) heal(rounds int) {
	w.budget, w.healing = -1, true
	defer func() { w.healing = false }()
	if !w.up {
		w.up = true
		w.step(machine.Link{Up: true})
	}
	w.step(machine.LocalFreeze{})
	for range rounds {
		switch {
		case w.fetch != nil:
			w.endFetch("", false)
		case w.run != nil:
			r := machine.Done
			if w.run.Look {
				r = machine.Looked
			}
			w.endRun(machine.Outcome{Result: r, Run: 7})
		case w.act != nil:
			w.endAct(false)
		case w.end != nil:
			w.inform("")
		case w.send != 0:
			w.deliver()
		case w.ask:
			w.answerAsk()
		case w.renew:
			w.renew = false
			w.step(machine.Renewed{})
		default:
			w.elapse(max(w.wake, time.Second))
		}
	}
}
