package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// endFetch ends the current fetch: either the store has all bundles, or the fetch failed.
func (w *world) endFetch(err string, refused bool) {
	f := w.fetch
	w.fetch = nil
	if err == "" {
		for _, b := range bundles(&f.Assignment) {
			w.store[b.Digest] = true
		}
	}
	w.step(machine.Fetched{Epoch: f.Assignment.Epoch, Generation: f.Assignment.Generation, Error: err, Refused: refused})
}

// retained returns the digests of the last Retain; nil if there was none.
func (w *world) retained() []string {
	for _, a := range slices.Backward(w.did) {
		if r, ok := a.(machine.Retain); ok {
			return r.Digests
		}
	}
	return nil
}

// The assigned and the applied bundles are retained, with their proofs, and no others: a target
// whose newest assignment fails returns to the applied composition.
func TestWhatIsRetained(t *testing.T) {
	proven := func(generation uint64, version string) fleet.Assignment {
		a := assignment(generation, "modules/a="+version, "modules/b="+version)
		a.Root.Bundle = bundle("", version)
		proof := bundle("proof", version)
		a.Modules[0].Proof = &proof
		return a
	}
	digests := func(versions ...string) []string {
		var out []string
		for _, v := range versions {
			for _, name := range []string{"", "modules/a", "modules/b", "proof"} {
				out = append(out, bundle(name, v).Digest)
			}
		}
		slices.Sort(out)
		return out
	}
	w := newWorld()
	w.offer(proven(1, "1"))
	if got := w.retained(); !slices.Equal(got, digests("1")) {
		t.Errorf("of the first: %q", got)
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(proven(2, "2"))
	if got := w.retained(); !slices.Equal(got, digests("1", "2")) {
		t.Errorf("while the second comes: %q, want %q", got, digests("1", "2"))
	}
	w.endRun(machine.Outcome{Result: machine.RolledBack, Undo: true, Error: "x",
		Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
	w.offer(proven(3, "3"))
	if got := w.retained(); !slices.Equal(got, digests("1", "3")) {
		t.Errorf("after the second failed: %q", got)
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	w.offer(proven(4, "4"))
	if got := w.retained(); !slices.Equal(got, digests("3", "4")) {
		t.Errorf("after the third: %q", got)
	}
	// The bundles of a current run are retained, even if a newer assignment is accepted.
	w.offer(proven(5, "5"))
	if got := w.retained(); !slices.Equal(got, digests("3", "4", "5")) {
		t.Errorf("in the middle of a run of the fourth: %q", got)
	}
	if len(w.wrong) > 0 {
		t.Error(w.wrong)
	}
}

func job(id string, looks bool) machine.JobReceived {
	return machine.JobReceived{Job: fleet.Job{ID: id, What: fleet.JobRun,
		Run: &fleet.Command{Argv: []string{"true"}, ReadOnly: looks}}}
}

// answer returns the last acknowledgement of a job.
func (w *world) answer(t *testing.T, id string) fleet.JobAnswer {
	t.Helper()
	for _, a := range slices.Backward(w.did) {
		if d, ok := a.(machine.AcknowledgeJob); ok && d.Answer.ID == id {
			return d.Answer
		}
	}
	t.Fatalf("%s has no answer", id)
	return fleet.JobAnswer{}
}

// At most 32 jobs are accepted. A further job is refused, and is not remembered as accepted. A job
// whose result a hub has makes room for another one.
func TestMostJobs(t *testing.T) {
	w := newWorld()
	for i := range 32 {
		w.step(job(fmt.Sprint(i), false))
		if d := w.answer(t, fmt.Sprint(i)); !d.Accepted || d.Error != "" {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	for range 2 { // a repetition is refused too
		w.step(job("32", false))
		if d := w.answer(t, "32"); d.Accepted || !strings.Contains(d.Error, "32 jobs wait or run on this host already") {
			t.Fatalf("%+v", d)
		}
	}
	w.step(job("5", false))
	if d := w.answer(t, "5"); !d.Accepted || d.Error != "" {
		t.Errorf("one that was taken before: %+v", d)
	}
	w.endAct(false)
	w.step(job("32", false))
	if d := w.answer(t, "32"); d.Accepted {
		t.Error("one that has ended and that no hub has heard of makes room")
	}
	w.up = true
	w.step(machine.Link{Up: true})
	w.inform("")
	if n := len(w.durable().AcceptedJobs); n != 31 {
		t.Errorf("after a hub has heard of one, %d are kept", n)
	}
	w.step(job("32", false))
	if d := w.answer(t, "32"); !d.Accepted || d.Error != "" {
		t.Errorf("after one has ended: %+v", d)
	}
	if len(w.durable().AcceptedJobs) != 32 || len(w.wrong) > 0 {
		t.Errorf("%d are kept; %q", len(w.durable().AcceptedJobs), w.wrong)
	}
}

// A job with changes waits for the end of a run, and a run waits for the end of such a job. A
// read-only job waits for neither.
func TestJobsAndRunsTakeTurns(t *testing.T) {
	for _, looks := range []bool{false, true} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		if w.step(job("j", looks)); (w.act != nil) != looks {
			t.Errorf("looks %t, in the middle of a run: begun %t", looks, w.act != nil)
		}
		if w.endRun(machine.Outcome{Result: machine.Done, Run: 1}); w.act == nil {
			t.Errorf("looks %t: not begun after the run", looks)
		}
		w.offer(assignment(2, "modules/a=2"))
		if (w.run != nil) != looks {
			t.Errorf("looks %t, in the middle of it: a run begins: %t", looks, w.run != nil)
		}
		if w.endAct(false); w.run == nil {
			t.Errorf("looks %t: no run after it", looks)
		}
		if len(w.wrong) > 0 {
			t.Error(w.wrong)
		}
	}
}

// A job that finds the host locked starts again later, and is finally given up.
func TestALockedJobIsTriedAgain(t *testing.T) {
	w := newWorld()
	w.step(job("j", false))
	tries := 0
	for ; w.act != nil && tries < 1000; tries++ {
		w.endAct(true)
		if w.act != nil {
			t.Fatal("it is begun again at once")
		}
		w.elapse(time.Minute)
	}
	if tries != 120 || len(w.durable().AcceptedJobs) != 1 || w.durable().AcceptedJobs[0].Answer == nil ||
		len(w.wrong) > 0 {
		t.Errorf("%d tries, %+v, %q", tries, w.durable().AcceptedJobs, w.wrong)
	}
}

// An assignment with the same content is adopted immediately, except while the target is frozen, by
// a hub or locally.
func TestNothingIsAdoptedWhileFrozen(t *testing.T) {
	for _, byHub := range []bool{true, false} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		next := assignment(2, "modules/a=1")
		next.Root.Revision.Commit = strings.Repeat("b", 40)
		next.Modules[0].Revision.Commit = strings.Repeat("b", 40)
		if byHub {
			next.Frozen = "a feast"
		} else {
			w.step(machine.LocalFreeze{Why: "by ada"})
		}
		w.offer(next)
		if good := w.durable().Applied; good.Generation != 1 || good.Root.Revision.Commit != strings.Repeat("a", 40) {
			t.Errorf("by a hub %t: a frozen target has %d.%d of %s", byHub, good.Epoch, good.Generation,
				good.Root.Revision.Commit)
		}
		w.step(machine.LocalFreeze{})
		next.Generation, next.Frozen = 3, ""
		w.offer(next)
		if good := w.durable().Applied; good.Generation == 1 || good.Root.Revision.Commit != strings.Repeat("b", 40) {
			t.Errorf("by a hub %t: after that it has %d.%d", byHub, good.Epoch, good.Generation)
		}
		if w.run != nil || len(w.wrong) > 0 {
			t.Errorf("by a hub %t: %s, %q", byHub, inRun(w), w.wrong)
		}
	}
}

// After a failed run, modules without errors and without remaining changes count as applied. After
// failed checks all modules do, after an undo none.
func TestWhatAFailedRunHasApplied(t *testing.T) {
	for _, c := range []struct {
		result machine.Result
		run    int // number of the run; 0: it did not begin
		a      machine.Part
		b      machine.Part
		want   string // applied versions of a and b
	}{
		{machine.Failed, 2, machine.Part{}, machine.Part{Error: "boom"}, "21"},
		{machine.Failed, 2, machine.Part{Left: 1}, machine.Part{Error: "boom"}, "11"},
		{machine.Failed, 2, machine.Part{Left: 2}, machine.Part{Error: "boom", Left: 1}, "11"},
		{machine.Failed, 2, machine.Part{Error: "boom"}, machine.Part{}, "12"},
		{machine.Failed, 2, machine.Part{Error: "boom"}, machine.Part{Error: "boom"}, "11"},
		{machine.Failed, 2, machine.Part{}, machine.Part{}, "11"}, // in no module: the applied modules are unknown
		{machine.Failed, 0, machine.Part{}, machine.Part{Error: "boom"}, "11"},
		{machine.CheckFailed, 2, machine.Part{}, machine.Part{Error: "no answer"}, "22"},
		{machine.CheckFailed, 2, machine.Part{Left: 1}, machine.Part{Error: "no answer"}, "22"},
		{machine.RolledBack, 2, machine.Part{}, machine.Part{Error: "boom"}, "11"},
		{machine.Broken, 0, machine.Part{}, machine.Part{Error: "boom"}, "11"},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1", "modules/b=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/a=2", "modules/b=2"))
		w.endRun(machine.Outcome{Result: c.result, Run: c.run, Error: "x",
			Parts: map[string]machine.Part{"modules/a": c.a, "modules/b": c.b}})
		got := ""
		for _, as := range w.durable().Applied.Modules {
			for _, v := range []string{"1", "2"} {
				if as.Bundle == bundle(as.Module, v) {
					got += v
				}
			}
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
