package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

func binaryConfig(generation uint64, version string) fleet.Assignment {
	a := assignment(generation, "modules/web=1")
	a.Binary = &fleet.Binary{Version: version, Files: map[string]fleet.Bundle{"amd64": bundle("fettle", version)}}
	return a
}

// replacing returns the actions of an upgrade of the agent.
func (w *world) replacing() string {
	var out []string
	for _, a := range w.did {
		switch a := a.(type) {
		case machine.Prepare:
			out = append(out, "prepare "+a.Binary.Version)
		case machine.ConfirmBinary:
			out = append(out, "settle")
		case machine.Leave:
			out = append(out, "leave")
		}
	}
	return strings.Join(out, ", ")
}

// of returns the texts of the reports of a kind.
func (w *world) of(kind fleet.EventKind) string {
	var out []string
	for _, a := range w.did {
		if ap, ok := a.(machine.Append); ok && ap.Report.Event.Kind == kind {
			out = append(out, strings.TrimSpace(ap.Report.Event.Text+" "+ap.Report.Event.Error))
		}
	}
	return strings.Join(out, "; ")
}

func upgrading(p machine.Binary) *world {
	w := newWorld()
	p.Arch = "amd64"
	w.cfg.Binary = p
	w.start()
	w.did = nil
	return w
}

func TestUpgrade(t *testing.T) {
	w := upgrading(machine.Binary{})
	w.offer(binaryConfig(1, "2"))
	want(t, "without a hub", w.replacing(), "")
	w.up = true
	w.step(machine.Link{Up: true})
	want(t, "with one", w.replacing(), "prepare 2")
	want(t, "modules meanwhile", inRun(w), "assigned web")
	w.step(machine.Prepared{Digest: bundle("fettle", "2").Digest, Version: "2"})
	want(t, "in a run", w.replacing(), "prepare 2")
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1})
	want(t, "after it", w.replacing()+"; "+inRun(w), "prepare 2, leave; no run")
	w.elapse(time.Minute)
	want(t, "once", w.replacing(), "prepare 2, leave")
}

func TestUpgradeTrial(t *testing.T) {
	w := upgrading(machine.Binary{Digest: bundle("fettle", "2").Digest, Trial: true})
	w.cfg.Version = "2"
	w.start()
	w.offer(binaryConfig(1, "3"))
	w.elapse(time.Hour)
	want(t, "nothing is sure without a hub", w.replacing(), "")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1})
	w.up = true
	w.step(machine.Link{Up: true})
	w.deliver()
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	want(t, "a hub has a report", w.replacing(), "settle, leave")
	want(t, "told", w.of(fleet.Upgraded), "to 2")
}

func TestUpgradeFails(t *testing.T) {
	bad := bundle("fettle", "2").Digest
	w := upgrading(machine.Binary{})
	w.up = true
	w.step(machine.Link{Up: true})
	w.offer(binaryConfig(1, "2"))
	w.step(machine.Prepared{Digest: bad, Version: "2", Error: "no hub has it"})
	w.elapse(time.Minute)
	want(t, "it is tried again", w.replacing(), "prepare 2, prepare 2")
	w.step(machine.Prepared{Digest: bad, Version: "2", Error: "it is not signed", Never: true})
	w.elapse(24 * time.Hour)
	want(t, "and not any more", w.replacing(), "prepare 2, prepare 2, settle")
	want(t, "told", w.of(fleet.Upgraded), "not to 2, the agent keeps version 1: it is not signed")
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobApply}})
	want(t, "unless somebody asks", w.replacing(), "prepare 2, prepare 2, settle, prepare 2")
	w.step(machine.Prepared{Digest: bad, Version: "2"})
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})

	w.cfg.Binary.FailedDigest, w.cfg.Binary.Failed.Version, w.cfg.Binary.Why = bad, "2", "it reached no hub"
	w.did = nil
	w.start()
	want(t, "the old one is back", w.of(fleet.Upgraded), "not to 2, the agent keeps version 1: it reached no hub")
	w.start()
	w.elapse(time.Hour)
	want(t, "it is told once", w.of(fleet.Upgraded), "not to 2, the agent keeps version 1: it reached no hub")
	want(t, "and not tried", w.replacing(), "settle")
	w.offer(binaryConfig(2, "3"))
	want(t, "another one is", w.replacing(), "settle, prepare 3")
}

func TestUpgradeHeld(t *testing.T) {
	w := upgrading(machine.Binary{})
	w.up = true
	w.step(machine.Link{Up: true})
	w.step(machine.LocalFreeze{Why: "ada"})
	w.offer(binaryConfig(1, "2"))
	want(t, "frozen", w.replacing(), "")
	w.step(machine.LocalFreeze{})
	want(t, "thawed", w.replacing(), "prepare 2")
	w.step(machine.Prepared{Digest: bundle("fettle", "2").Digest, Same: true})
	w.elapse(time.Hour)
	want(t, "it is that one", w.replacing(), "prepare 2, settle")
	other := binaryConfig(2, "3")
	other.Binary.Files = map[string]fleet.Bundle{"arm64": bundle("fettle", "3")}
	w.offer(other)
	want(t, "no file", w.of(fleet.Refused),
		"version 3 of the agent has no binary for the architecture of this host, amd64")
}

// Of an assignment in a newer format, only the required binary is used.
func TestUpgradeByWhatCannotBeRead(t *testing.T) {
	w := upgrading(machine.Binary{})
	w.up = true
	w.step(machine.Link{Up: true})
	before := fmt.Sprint(w.m.Status())
	w.step(machine.Newer{Why: "unknown field", Binary: binaryConfig(1, "2").Binary})
	want(t, "told", w.of(fleet.Refused), "unknown field")
	want(t, "the program", w.replacing()+"; "+inRun(w), "prepare 2; no run")
	want(t, "nothing else", fmt.Sprint(w.m.Status()), before)
}
