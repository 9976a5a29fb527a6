package web

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// TestPhasesOfThisHost: the progress shows a run of two phases while it goes on. The second one fails, so both are
// undone, and the page shows the restored objects.
func TestPhasesOfThisHost(t *testing.T) {
	a := newAlone(t, "")
	a.list = "LINK one /etc/link\nEXEC wait wait\nLINK two /etc/link phase=2\nCHECK answer file=/etc/answer within=1ms\n"
	a.options.OnFailure, a.options.OnCheckFailure = "undo", "rollback"
	b := a.open("web1")
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the present step", oneLine+".includes('◐ applying run exec:wait')")
	close(a.gate)
	b.until("the end", "document.querySelector('h1').innerText.includes('rolled-back')")
	for _, want := range []string{"in 3 phases", "Phase 2: the next phase", "▲ undone update file:/etc/link",
		"Phase 3: back to the origin", "● done remove file:/etc/link", "See the results of run 1, run 2, run 3"} {
		b.until(want, oneLine+".includes('"+want+"')")
	}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("the progress in " + scheme)
	}
	b.quiet()
}

// TestChoicesOnThisHost: a user applies uncommitted changes, overwrites manual changes, and confirms the run after a
// new login.
func TestChoicesOnThisHost(t *testing.T) {
	a := newAlone(t, "file \"/etc/motd\" { content = \"Hello\\n\" }\n")
	b := a.open("web1")
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the first run", "document.body.innerText.includes('See the results of run 1')")
	a.drift("/etc/motd", "Goodbye\n")
	a.edit = func(r *executor.Request) { r.Revision.Dirty, r.Repair = true, false }
	a.options = executor.Options{ConfirmWithin: time.Hour}
	b.visit("/targets/web1/plan")
	b.until("the kept change", oneLine+".includes('keeps the manual changes of 1 address')")
	b.accessible("the plan with drift")
	b.click(".hold a")
	b.until("the overwritten change", oneLine+".includes('overwrites the manual changes of 1 address')")
	b.accessible("the plan with choices")
	b.click("form.orders button")
	b.until("the choice is required", "document.querySelector('form.orders input:invalid') !== null")
	b.click("form.orders input[type=checkbox]")
	b.click("form.orders button")
	b.until("the confirmation", "document.querySelector('.hold a')?.innerText === 'Confirm it'")
	b.click(".hold a")
	b.until("the changes", oneLine+".includes('Run 2 has made these changes')")
	b.accessible("the confirmation")
	b.click("form.orders input[type=checkbox]")
	b.click("form.orders button")
	b.until("the end", oneLine+".includes('Run 2 is confirmed and stays.')")
	b.shows("/targets/web1/confirm", "No run waits")
	b.shows("/targets/web1/runs/2", "fettle apply --no-repair=false --dirty")
	b.quiet()
}
