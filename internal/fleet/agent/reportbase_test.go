package agent_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// The first report on each connection is full, and later ones contain only differences. A hub
// without support for partial reports gets full reports.
func TestParts(t *testing.T) {
	n := newNode(t)
	to := func(generation uint64, text string) {
		n.hub.assign(generation, top, n.hub.part("modules/base", motd(text)), n.hub.part("modules/web", issue("web\n")))
		n.hub.connect(false)
		n.hub.connect(true)
		r := n.hub.heard(t, "ready", func(r fleet.Report) bool { return isReady(r) && r.Status.Generation == generation })
		if len(r.Status.Modules) != 2 || r.Status.Modules[0].State != fleet.ModuleReady ||
			r.Status.Modules[1].State != fleet.ModuleReady {
			t.Errorf("%+v", r.Status)
		}
	}
	since := func() (all []uint64) {
		n.hub.mu.Lock()
		defer n.hub.mu.Unlock()
		all, n.hub.since = n.hub.since, nil
		return all
	}
	n.start()
	to(1, "one\n")
	since()
	to(2, "two\n")
	if got := since(); len(got) < 2 || got[0] != 0 || slices.Contains(got[1:], 0) {
		t.Errorf("on a new connection it told what was other since %v", got)
	}
	n.ask("w1", fleet.JobReport, fleet.FullReport, nil)
	n.hub.heard(t, "all of it", kind(fleet.ReportRequested))
	if got := since(); len(got) != 1 || got[0] != 0 {
		t.Errorf("asked for all of it, it told what was other since %v", got)
	}
	n.hub.mu.Lock()
	n.hub.old = true
	n.hub.mu.Unlock()
	to(3, "three\n")
	if got := since(); !slices.Contains(got[1:], 0) {
		t.Errorf("a hub that refuses parts is told what is other since %v", got)
	}
}
