package machine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// history draws random events for an agent.
type history struct {
	*world
	t *rapid.T
}

func (h history) n(name string, low, high int) int {
	return rapid.IntRange(low, high).Draw(h.t, name)
}

func (h history) publish() {
	var modules []string
	names := []string{"modules/a", "modules/b", "modules/c"}
	for i, name := range names {
		if h.n("assigned", 0, 4) == 0 {
			continue
		}
		text := fmt.Sprintf("%s=%d", name, h.n("version", 1, 3))
		if i > 0 && h.n("needs", 0, 1) == 1 {
			level := rapid.SampledFrom([]fleet.Level{fleet.Completed, fleet.Available, fleet.Exact}).Draw(h.t, "level")
			text += "<" + names[h.n("which", 0, i-1)] + ":" + string(level)
		}
		modules = append(modules, text)
	}
	a := assignment(uint64(len(h.all)+1), modules...)
	a.Epoch = uint64(1 + len(h.all)/7)
	a.Root.Bundle = bundle("", fmt.Sprint(h.n("top", 1, 2)))
	if h.n("later", 0, 5) == 0 && len(a.Modules) > 0 {
		a.Modules[0].NotBefore = h.now.Wall/int64(time.Second) + int64(h.n("in", -10, 1000))
	}
	if h.n("frozen", 0, 9) == 0 {
		a.Frozen = "a freeze"
	}
	if h.n("window", 0, 3) == 0 {
		a.Windows = hourly()
	}
	h.all = append(h.all, a)
	if h.up && h.n("pushed", 0, 2) > 0 {
		h.step(machine.Offered{Assignment: a})
	}
}

// push sends any earlier assignment: late, repeated or out of order.
func (h history) push() {
	if len(h.all) > 0 && h.up {
		h.step(machine.Offered{Assignment: h.all[h.n("which", 0, len(h.all)-1)]})
	}
}

func (h history) outcome() machine.Outcome {
	o := machine.Outcome{Run: h.n("run", 0, 50), Changes: h.n("changes", 0, 2), Undo: h.n("undo", 0, 1) == 1,
		Parts: map[string]machine.Part{}}
	o.Result = rapid.SampledFrom([]machine.Result{
		machine.Done, machine.Done, machine.Done, machine.Failed, machine.CheckFailed, machine.RolledBack, machine.Broken,
		machine.Locked, machine.Frozen,
	}).Draw(h.t, "result")
	if h.run.Look {
		o.Result = machine.Looked
	}
	if h.n("told", 0, 1) == 1 {
		o.Facts = map[string]string{"cpus": fmt.Sprint(h.n("cpus", 1, 2))}
		o.Exports = own(fmt.Sprint(h.n("value", 1, 2)))
	}
	for _, as := range h.run.Want.Modules {
		var p machine.Part
		if o.Result != machine.Done && h.n("fails", 0, 1) == 1 {
			p.Error = "boom"
		}
		p.Left, p.Drift = h.n("left", 0, 1), h.n("drift", 0, 3)/3
		o.Parts[as.Module] = p
	}
	if o.Result != machine.Done {
		o.Error = "it failed"
	}
	return o
}

func (h history) complete() {
	lost := !h.up || h.n("lost", 0, 2) == 0
	text := ""
	if lost {
		text = "no hub answers"
	}
	switch what := h.n("what", 0, 6); {
	case what == 5 && h.act != nil:
		h.endAct(h.n("locked", 0, 2) == 0)
	case what == 6 && h.end != nil:
		if lost && h.n("half", 0, 1) == 1 { // the hub stored it, but its answer is lost
			h.ended[h.end.ID] = *h.end
		}
		h.inform(text)
	case what == 0 && h.fetch != nil:
		h.endFetch(text, lost && h.n("refused", 0, 3) == 0)
	case what == 1 && h.send != 0 && lost:
		seq := h.send
		if h.n("half", 0, 1) == 1 && int(seq) == len(h.heard)+1 { // the hub stored it, but its answer is lost
			h.heard = append(h.heard, h.outbox[seq])
		}
		h.send = 0
		h.step(machine.Acked{Seq: seq, Error: text})
	case what == 1 && h.send != 0:
		h.deliver()
	case what == 2 && h.ask && lost:
		h.ask = false
		h.step(machine.Answered{Error: text})
	case what == 2 && h.ask:
		h.answerAsk()
	case h.run != nil:
		h.endRun(h.outcome())
	}
}

func (h history) happen() {
	switch h.n("event", 0, 22) {
	case 0:
		h.publish()
	case 1:
		h.push()
	case 2:
		h.up = !h.up
		h.step(machine.Link{Up: h.up})
	case 3:
		h.elapse(time.Duration(h.n("seconds", 0, 4000)) * time.Second)
	case 4:
		h.now.Wall += int64(h.n("jump", -100_000, 100_000)) * int64(time.Second)
		h.elapse(time.Second)
	case 5:
		h.budget = h.n("budget", 0, 5)
	case 6:
		h.start()
	case 7:
		h.step(machine.Touched{})
	case 8:
		what := rapid.SampledFrom([]string{fleet.JobApply, fleet.JobVerify, fleet.JobReport, "dance"}).Draw(h.t, "do")
		h.step(machine.JobReceived{Job: fleet.Job{ID: fmt.Sprint(h.n("id", 0, 20)), What: what}})
	case 10:
		id := h.n("run", 0, 9)
		h.step(machine.JobReceived{Job: fleet.Job{ID: fmt.Sprint("run", id), What: fleet.JobRun,
			Run: &fleet.Command{Argv: []string{"true"}, ReadOnly: id%3 == 0}}})
	case 11:
		id := fmt.Sprint("run", h.n("run", 0, 19))
		h.step(machine.JobReceived{Job: fleet.Job{ID: id + ".cancelled", What: fleet.JobCancel, Arg: id}})
	case 12:
		why := rapid.SampledFrom([]string{"", "too many files"}).Draw(h.t, "watched")
		h.step(machine.Watched{Why: why})
	case 13:
		if h.run != nil && !h.run.Look {
			h.step(machine.Drifted{Modules: map[string]int{"modules/a": h.n("drifted", 0, 2)}, Text: "x"})
		}
	case 14:
		h.restless()
	case 15:
		h.sleeps()
	case 16:
		n := h.n("attempt", 0, 9)
		h.step(machine.JobReceived{Job: fleet.Job{ID: fmt.Sprint("run", 10+n), What: fleet.JobTask,
			At: h.now.Wall / int64(time.Second), Task: &fleet.TaskAttempt{Scope: "cluster/a", Task: "t", Digest: "d",
				Fence: uint64(n), VerifyOnly: n%3 == 0, Expires: h.now.Wall/int64(time.Second) + int64(h.n("in", -5, 600))}}})
	case 17:
		var all []fleet.CheckResult
		for i := range h.n("checks", 0, 2) {
			all = append(all, outcome(fmt.Sprint("c", i), rapid.SampledFrom(outcomes()).Draw(h.t, "outcome")))
		}
		h.step(machine.ChecksChanged{Results: all})
	case 9:
		f := machine.LocalFreeze{Why: rapid.SampledFrom([]string{"", "ada"}).Draw(h.t, "why")}
		if f.Why != "" && h.n("ends", 0, 1) == 1 {
			f.Until = h.now.Wall + int64(h.n("in", -10, 100))*int64(time.Second)
		}
		h.step(f)
	default:
		h.complete()
	}
}

// For any events, the laws of world hold. When all operations succeed again, the target applies the
// newest assignment, and the hub has all reports.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := history{newWorld(), t}
		for range h.n("length", 1, 60) {
			h.happen()
			if len(h.wrong) > 0 {
				t.Fatal(h.wrong)
			}
		}
		h.converge()
	})
}

func (h history) converge() {
	for i := range h.all {
		h.all[i].Frozen = ""
	}
	last := assignment(uint64(len(h.all)+1), "modules/a=9", "modules/b=9<modules/a:version",
		"modules/c=9<modules/b:availability")
	last.Epoch = 100
	h.all = append(h.all, last)
	h.heal(300)
	steps := h.steps
	h.did = nil
	h.heal(100)
	if len(h.wrong) > 0 {
		h.t.Fatal(h.wrong)
	}
	s := h.m.Status()
	if s.Epoch != 100 || h.states() != "a ready; b ready; c ready" {
		h.t.Fatalf("it did not converge: %d.%d %s, %s", s.Epoch, s.Generation, h.states(), s.Error)
	}
	for id, taken := range h.taken {
		if d, ok := h.ended[id]; taken && (!ok || d.Cancelled && h.begun[id]) {
			h.t.Fatalf("request %s was taken, begun: %v, and ended as %+v", id, h.begun[id], d)
		}
	}
	if n := len(h.heard); n > 0 && !slices.Equal(h.heard[n-1].Status.Checks, s.Checks) {
		h.t.Fatalf("the hub has the results %+v, and not %+v", h.heard[n-1].Status.Checks, s.Checks)
	}
	if n := len(h.heard); n == 0 || h.heard[n-1].Status.Epoch != 100 {
		h.t.Fatalf("the hub has not heard all: %d", n)
	}
	if h.now.Mono < time.Hour {
		h.t.Fatalf("%d steps in %s: it does not come to rest", h.steps-steps, h.now.Mono)
	}
	for _, a := range h.did {
		if r, ok := a.(machine.Run); ok && r.Cause != machine.Sweep {
			h.t.Fatalf("a run at rest because of %s", r.Cause)
		}
	}
}
