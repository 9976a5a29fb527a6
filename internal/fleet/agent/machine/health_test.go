package machine_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// patient is a simulated host: its applied bundles, its drift, and the modules whose checks fail
// now.
type patient struct {
	history
	stands map[string]fleet.Bundle
	drift  bool
	sick   map[string]bool
	undoes bool
	// passed has the modules whose last check succeeded, with the bundle that was applied.
	passed map[string]fleet.Bundle
	proved fleet.AssignmentNumber
	// tried has the bundles of the newest run, and ran is the newest assignment with a run.
	tried string
	ran   fleet.AssignmentNumber
}

func newPatient(t *rapid.T) *patient {
	return &patient{
		history: history{newWorld(), t}, stands: map[string]fleet.Bundle{}, sick: map[string]bool{},
		passed: map[string]fleet.Bundle{},
		undoes: rapid.Bool().Draw(t, "undoes"),
	}
}

// finish ends the current run with the result of this host.
func (p *patient) finish() {
	r := p.run
	if r == nil {
		return
	}
	was, wants := p.stands, bundles(&r.Want)
	changes := fmt.Sprint(was) != fmt.Sprint(wants)
	switch {
	case r.Look:
		p.endRun(machine.Outcome{Result: machine.Looked})
		return
	case !r.Checks && !changes && !p.drift:
		p.endRun(machine.Outcome{Result: machine.Done})
		return
	}
	o := machine.Outcome{Result: machine.Done, Run: 1, Undo: p.undoes, Parts: map[string]machine.Part{}}
	if changes {
		o.Changes = 1
	}
	if p.drift {
		o.Repaired, p.drift = 1, false
	}
	p.stands = wants
	for name, b := range wants {
		delete(p.passed, name)
		if p.sick[name+b.Digest] {
			o.Result, o.Error = machine.CheckFailed, "a check failed"
			o.Parts[name] = machine.Part{Error: "no answer"}
		} else {
			p.passed[name] = b
		}
	}
	if o.Result == machine.CheckFailed && p.undoes && changes {
		o.Result, p.stands = machine.RolledBack, was
		maps.DeleteFunc(p.passed, func(name string, b fleet.Bundle) bool { return was[name] != b })
	}
	if o.Result == machine.Done {
		p.proved = r.Want.Number()
	}
	p.endRun(o)
}

// laws checks the invariants that views of the fleet depend on.
func (p *patient) laws() {
	s := p.m.Status()
	if s.LastVerified != nil && *s.LastVerified != p.proved {
		p.fault("assignment %s counts as proved, and the last one whose checks held is %s", s.LastVerified, p.proved)
	}
	all := true
	for _, m := range s.Modules {
		all = all && m.State == fleet.ModuleReady
		if b, ok := p.passed[m.Module]; m.State == fleet.ModuleReady && (!ok || b.Digest != m.Bundle) {
			p.fault("%s is ready, and its check did not hold when it last ran", m.Module)
		}
	}
	if p.sick[p.stands[""].Digest] && p.passed[""] != p.stands[""] && s.Error == "" && all && len(s.Modules) > 0 &&
		p.run == nil {
		p.fault("all is ready, and the check of the top failed")
	}
}

// goesOn checks that only a current run delays the newest assignment. A composition that just
// failed waits for its next attempt, and failed modules can be left out.
func (p *patient) goesOn() {
	if len(p.all) == 0 || p.run != nil || !p.fetched() {
		return
	}
	for _, m := range p.m.Status().Modules {
		if m.State == fleet.ModuleFailed {
			return
		}
	}
	newest := &p.all[len(p.all)-1]
	if wants := fmt.Sprint(bundles(newest)); wants != fmt.Sprint(p.stands) && wants != p.tried &&
		newest.Number() != p.ran {
		p.fault("the content of assignment %s is here, nothing runs, and it is not applied", newest.Number())
	}
}

func (p *patient) begun() {
	if p.run != nil {
		p.tried, p.ran = fmt.Sprint(bundles(&p.run.Want)), p.run.Want.Number()
	}
}

func (p *patient) happen() {
	modules := []string{"modules/a", "modules/b"}
	switch p.n("event", 0, 9) {
	case 0:
		a := assignment(uint64(len(p.all)+1), "modules/a="+fmt.Sprint(p.n("a", 1, 3)),
			"modules/b="+fmt.Sprint(p.n("b", 1, 3)))
		p.all = append(p.all, a)
		p.step(machine.Offered{Assignment: a})
	case 1:
		p.step(machine.Touched{})
	case 2:
		p.drift = true
		p.step(machine.Touched{})
	case 3:
		p.elapse(time.Duration(p.n("seconds", 1, 4000)) * time.Second)
	case 4:
		p.start()
	case 5, 6:
		name := rapid.SampledFrom(modules).Draw(p.t, "module")
		key := name + bundle(name, fmt.Sprint(p.n("version", 1, 3))).Digest
		p.sick[key] = !p.sick[key]
	case 7:
		p.fetchAll()
	default:
		p.finish()
	}
}

// After any sequence of events between a failure and its repair: ready means that the last checks
// succeeded, and a newer assignment is applied as soon as its content is stored.
func TestReadyMeansThatChecksHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPatient(t)
		p.up = true
		p.step(machine.Link{Up: true})
		for range p.n("length", 1, 80) {
			p.happen()
			p.begun()
			p.laws()
			p.goesOn()
			if len(p.wrong) > 0 {
				t.Fatal(p.wrong)
			}
		}
	})
}

// fetched reports whether the content of the newest assignment is stored.
func (p *patient) fetched() bool {
	for i := len(p.did) - 1; i >= 0; i-- {
		if f, ok := p.did[i].(machine.Fetch); ok {
			return f.Assignment.Number() == p.all[len(p.all)-1].Number() && p.fetch == nil
		}
	}
	return false
}

// A check fails, and the agent notices its own write in the same second: the failure remains.
func TestANoticedRunClearsNoFailure(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.CheckFailed, Run: 1, Changes: 1,
		Parts: map[string]machine.Part{"modules/web": {Error: "no answer"}}})
	w.step(machine.Touched{})
	want(t, "its own write is noticed", inRun(w), "noticed web")
	if w.run.Checks {
		t.Error("the checks run again at once")
	}
	w.endRun(machine.Outcome{Result: machine.Done})
	want(t, "states", w.states(), "web pending (the agent tries again) error: no answer")
	w.elapse(time.Minute)
	want(t, "it is tried again", inRun(w), "retry web")
	if w.m.Status().LastVerified != nil {
		t.Error("an assignment whose check failed counts as proved")
	}
	w.start()
	want(t, "after a restart", w.states(), "web pending (the agent tries again) error: no answer")
	w.fetchAll()
	w.elapse(time.Minute) // two failures
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	want(t, "the check holds", w.states(), "web ready")
}

// A good commit, a commit whose check fails until it is given up, and the fix: the fix is applied
// as soon as its content is stored, independently of the next attempt of the failed commit.
func TestTheFixComesAtOnce(t *testing.T) {
	bad := machine.Outcome{Result: machine.CheckFailed, Run: 2,
		Parts: map[string]machine.Part{"modules/web": {Error: "no answer"}}}
	for _, tries := range []int{1, 2, 3, 4} {
		w := newWorld()
		w.offer(assignment(1, "modules/web=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/web=2"))
		for range tries {
			w.endRun(bad)
			w.elapse(time.Hour)
		}
		w.endRun(bad)
		fix := assignment(3, "modules/web=3")
		w.all = append(w.all, fix)
		w.step(machine.Offered{Assignment: fix})
		want(t, "while its content comes", inRun(w), "no run")
		w.elapse(time.Second)
		want(t, "while its content comes", inRun(w), "no run")
		w.fetchAll()
		if inRun(w) != "assigned web" || w.run.Want.Generation != 3 {
			t.Errorf("after %d tries: %s", tries, inRun(w))
		}
	}
}
