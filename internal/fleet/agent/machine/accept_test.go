package machine_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestAcceptedAfterAFailure: the report about a newer assignment does not contain a failure of the previous
// one. A rollout would count such a failure as a result of the newer content.
func TestAcceptedAfterAFailure(t *testing.T) {
	for what, fail := range map[string]func(w *world){
		"content that is refused": func(w *world) {
			w.step(machine.Offered{Assignment: assignment(2, "modules/a=2")})
			w.endFetch("it has no valid signature", true)
		},
		"a failed run": func(w *world) {
			w.offer(assignment(2, "modules/a=2"))
			w.endRun(machine.Outcome{Result: machine.Failed, Run: 2, Error: "it failed",
				Parts: map[string]machine.Part{"modules/a": {Error: "it failed"}}})
		},
		"a list that cannot be compiled": func(w *world) {
			w.offer(assignment(2, "modules/a=2"))
			w.endRun(machine.Outcome{Result: machine.Broken, Run: 2, Error: "it is wrong"})
		},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		fail(w)
		if s := w.m.Status(); s.Error == "" && s.Modules[0].Error == "" {
			t.Fatalf("%s: there is no failure: %+v", what, s)
		}
		w.did = nil
		w.step(machine.Offered{Assignment: assignment(3, "modules/a=3")})
		accepted := false
		for _, a := range w.did {
			ap, ok := a.(machine.Append)
			if !ok || ap.Report.Event.Kind != fleet.Accepted {
				continue
			}
			accepted = true
			if s := ap.Report.Status; s.Error != "" || s.Modules[0].State == fleet.ModuleFailed {
				t.Errorf("%s: the report about the next assignment says %q, and %+v", what, s.Error, s.Modules[0])
			}
		}
		if !accepted {
			t.Errorf("%s: the next assignment was not accepted: %s", what, w.kinds())
		}
	}
}
