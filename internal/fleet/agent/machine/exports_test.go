package machine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

func own(value string) []exported.Own {
	return []exported.Own{{Module: "modules/web", Output: "address", Value: `"` + value + `"`}}
}

// published returns the values that the last step sent to a hub.
func published(w *world) string {
	for _, a := range w.did {
		if p, ok := a.(machine.Publish); ok {
			w.did = nil
			out := "nothing"
			for _, v := range p.Exports.Values {
				out = v.Value
			}
			w.step(machine.Published{Exports: p.Exports})
			return out
		}
	}
	return ""
}

// runs completes a run that exports a value.
func runs(w *world, values []exported.Own) {
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done, Exports: values})
}

// Exported values are sent once after they are stable, and again after each new connection. The
// removal of all values is also sent.
func TestExportsAreTold(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Exports: own("a")})
	want(t, "without a hub", published(w), "")
	w.step(machine.Link{Up: true})
	want(t, "a hub comes", published(w), `"a"`)
	w.elapse(time.Minute)
	want(t, "it knows", published(w), "")
	w.step(machine.Link{})
	w.step(machine.Link{Up: true})
	want(t, "another hub", published(w), `"a"`)
	w.elapse(time.Minute)
	runs(w, own("b"))
	want(t, "at once", published(w), "")
	w.elapse(3 * time.Second)
	want(t, "in a moment", published(w), `"b"`)
	w.elapse(time.Hour)
	runs(w, nil)
	w.elapse(3 * time.Second)
	want(t, "nothing any more", published(w), "nothing")
	w.step(machine.Link{})
	w.step(machine.Link{Up: true})
	want(t, "it was told", published(w), "")
}

// The more often a value changes, the more rarely it is sent.
func TestExportsThatFlap(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Exports: own("0")})
	w.step(machine.Link{Up: true})
	told := 0
	for i := range 3600 {
		if published(w) != "" {
			told++
		}
		runs(w, own(fmt.Sprint(i)))
		if published(w) != "" {
			told++
		}
		w.elapse(time.Second)
	}
	if told < 5 || told > 20 {
		t.Errorf("in an hour of changes it was told %d times", told)
	}
	w.elapse(time.Hour)
	want(t, "the last one", published(w), `"3599"`)
}

func table(values ...string) []exported.Table {
	t := exported.Table{Module: "modules/web", Output: "address", Type: json.RawMessage(`"string"`)}
	for _, v := range values {
		t.Values = append(t.Values, exported.Value{Target: v, Value: json.RawMessage(`"` + v + `"`)})
	}
	return []exported.Table{t}
}

func givenIn(w *world) string {
	out := inRun(w) + ":"
	if w.run != nil {
		for _, t := range w.run.Want.Exported {
			for _, v := range t.Values {
				out += " " + v.Key()
			}
		}
	}
	return out
}

// New values of other targets cause a run. Values of the previous epoch are used until the new
// epoch has them, or for carryFor.
func TestGivenValues(t *testing.T) {
	w := newWorld()
	offer := func(epoch, generation uint64, values ...string) {
		a := assignment(generation, "modules/lb=1")
		a.Epoch, a.Exported = epoch, table(values...)
		w.offer(a)
	}
	done := func() { w.endRun(machine.Outcome{Result: machine.Done}) }
	offer(1, 1, "web1")
	want(t, "the first", givenIn(w), "assigned lb: web1")
	done()
	offer(1, 2, "web1", "web2")
	want(t, "one more", givenIn(w), "assigned lb: web1 web2")
	done()
	offer(1, 3, "web2")
	want(t, "one less", givenIn(w), "assigned lb: web2")
	done()
	offer(2, 1)
	want(t, "the store was lost", givenIn(w), "no run:")
	offer(2, 2, "web3")
	want(t, "one comes", givenIn(w), "assigned lb: web2 web3")
	done()
	w.start()
	w.fetchAll()
	done()
	w.elapse(11 * time.Minute)
	want(t, "the other does not", givenIn(w), "assigned lb: web3")
	done()
	offer(3, 1)
	offer(3, 2, "web3")
	want(t, "lost, and all there", givenIn(w), "no run:")
	offer(3, 3)
	want(t, "taken away", givenIn(w), "assigned lb:")
}

// A module whose states wait for values of other targets is blocked without an error, and so are
// modules that need it.
func TestModulesWaitForOthers(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/lb=1", "modules/site=1<modules/lb:availability"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1,
		Parts: map[string]machine.Part{"modules/lb": {Waits: "waiting for web1 to report web.address"}}})
	want(t, "states", w.states(),
		"lb blocked (waiting for web1 to report web.address); site blocked (modules/lb is not available (blocked: waiting for web1 to report web.address))")
	want(t, "no run", inRun(w), "no run")
	a := assignment(2, "modules/lb=1", "modules/site=1<modules/lb:availability")
	a.Exported = table("web1")
	w.offer(a)
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	want(t, "then", inRun(w), "assigned lb site")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	want(t, "ready", w.states(), "lb ready; site ready")
	if s := w.m.Status(); s.Modules[0].State != fleet.ModuleReady {
		t.Error(s)
	}
}
