package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/repo"
)

// runData is the data of the page of a run.
type runData struct {
	hostData
	Run    run
	Parts  []repo.PartRevision // of a list that consists of several commits
	Notes  []string
	Failed []change
	Counts []outcomeCount
	changeList
	RollBack bool // the user may roll back
}

// outcomeCount is the number of steps of a run with an outcome.
type outcomeCount struct {
	Outcome string
	Count   int
}

// runNumber returns the number of the run of a page.
func runNumber(v *visit) (n int, ok bool) {
	n, err := strconv.Atoi(v.PathValue("run"))
	return n, err == nil && n >= 1
}

// runPage shows a run of a target: its steps, results and errors.
func runPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	n, ok := runNumber(v)
	if !ok {
		return noPage(v)
	}
	p := &page{Title: fmt.Sprintf("Run %d of %s", n, host.Name)}
	p.sameRun(v, &host, n)
	return p, p.addRun(v, host, func(context.Context, *wire.Client) (int, error) { return n, nil })
}

// sameRun sets the command and the address that return a run. A reader gets no differences of content.
func (p *page) sameRun(v *visit, of *hostData, n int) {
	diff := v.May(access.Operate)
	p.Command = of.command("show", strconv.Itoa(n))
	if diff {
		p.Command += " --diff"
	}
	if v.host == nil {
		p.Address = address(route.Run(), route.TargetRun{Target: of.Name, Run: n, Diff: diff})
	}
}

// addRun adds the content of a page about one run. number finds the run.
func (p *page) addRun(v *visit, host hostData, number func(context.Context, *wire.Client) (int, error)) error {
	d := runData{hostData: host, RollBack: v.May(access.Operate)}
	q := question{target: d.Name, command: p.Command, changes: d.RollBack, within: answerWithin}
	err := ask(v, q, func(ctx context.Context, x *wire.Client) error {
		n, err := number(ctx, x)
		if err != nil {
			return err
		}
		shown, err := showRun(ctx, x, &d.hostData, n)
		if err == nil {
			p.sameRun(v, &d.hostData, n)
			d.fill(shown, p.Command)
		}
		return err
	})
	if found, ok := err.(*document.Problem); ok && found.Status == http.StatusNotFound {
		return found
	}
	if err := d.keepProblem(err); err != nil {
		return err
	}
	p.Tab, p.Template, p.Data = "/", "run", d
	return nil
}

// showRun reads a run. If the host does not have it, the error is a problem with the status 404.
func showRun(ctx context.Context, x *wire.Client, of *hostData, n int) (d executor.RunDetails, err error) {
	d, found, err := executor.ReadRun(ctx, x, n, true)
	if err == nil || found {
		return d, err
	}
	return d, &document.Problem{Title: "There is no such run", Status: http.StatusNotFound,
		Detail: fmt.Sprintf("cannot find run %d in the journal of %s: it never existed, or its data was removed", n, of.Name),
		Hint:   "List the runs: " + of.command("log")}
}

// fill sets the data of the answer.
func (d *runData) fill(s executor.RunDetails, command string) {
	d.Run, d.Parts = run{s.Info}, s.Info.Header.Revision.Parts
	d.changeList = listChanges(s.Plan, command)
	d.outcomes(s.Invocations)
	d.took(s.Took)
	for _, note := range s.Notes {
		d.Notes = append(d.Notes, bounded(note))
	}
	d.Failed = d.changeList.failed()
	counts := map[string]int{}
	for _, c := range d.Changes {
		counts[c.Outcome]++
	}
	for _, name := range []string{"done", "failed", "undone", "skipped"} {
		if n := counts[name]; n > 0 {
			d.Counts = append(d.Counts, outcomeCount{name, n})
		}
	}
}
