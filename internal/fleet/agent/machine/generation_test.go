package machine_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// texts returns the kinds and texts of the events about runs and assignments.
func (w *world) texts() string {
	var out []string
	for _, a := range w.did {
		ap, ok := a.(machine.Append)
		if e := ap.Report.Event; ok && e.Kind != fleet.Started && e.Kind != fleet.Waiting {
			out = append(out, string(e.Kind)+" "+e.Text)
		}
	}
	return strings.Join(out, "\n")
}

// Each event about a run names the generation that the run applied, even if a newer one was
// accepted during the run. It also counts modules that were left out.
func TestGenerationOfEvents(t *testing.T) {
	done := func(run int) machine.Outcome {
		return machine.Outcome{Result: machine.Done, Run: run, Changes: 1, Checked: true}
	}
	bad := machine.Outcome{Result: machine.RolledBack, Run: 2, Undo: true, Error: "x"}
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1<modules/a:availability"))
	w.endRun(done(1))
	w.offer(assignment(2, "modules/a=2"))
	w.endRun(done(2))
	w.endRun(done(3))
	w.offer(assignment(3, "modules/a=3"))
	w.offer(assignment(4, "modules/a=4"))
	w.endRun(bad)
	w.endRun(done(4))
	w.offer(assignment(5, "modules/a=4"))
	want(t, "events", w.texts(), strings.Join([]string{
		"accepted generation 1.1",
		"applied generation 1.1 without one of its modules",
		"accepted generation 1.2",
		"applied generation 1.1",
		"applied generation 1.2, all is ready",
		"accepted generation 1.3",
		"accepted generation 1.4",
		"rolled_back generation 1.3",
		"applied generation 1.4, all is ready",
		"accepted generation 1.5, which changes nothing here",
	}, "\n"))
}
