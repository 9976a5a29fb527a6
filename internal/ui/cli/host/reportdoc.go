package host

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// ReportDoc is how a run ended, as a document.
type ReportDoc struct {
	Format    string                 `json:"format"` // fettle.report/1
	Exit      int                    `json:"exit"`
	Run       int                    `json:"run"`
	Runs      []int                  `json:"runs,omitempty"`
	Outcome   string                 `json:"outcome"`
	Changed   int                    `json:"changed"`
	Error     string                 `json:"error,omitempty"`
	Failed    *executor.Failure      `json:"failed,omitempty"`
	Rescued   []*executor.Failure    `json:"rescued,omitempty"`
	Checks    []executor.CheckResult `json:"checks,omitempty"`
	Notes     []string               `json:"notes,omitempty"`
	Pending   []addr.Addr            `json:"pending,omitempty"`
	Remaining []addr.Addr            `json:"remaining,omitempty"`
	NotUndone []addr.Addr            `json:"stays,omitempty"`
	ConfirmBy int64                  `json:"confirm_by,omitempty"`
	Duration  int64                  `json:"duration_ns"`
	Plan      *rundoc.Plan           `json:"plan,omitempty"`
}

func reportJSON(r *executor.Report, p *plan.Plan, err error) ReportDoc {
	doc := ReportDoc{
		Format: "fettle.report/1", Exit: cli.ExitCode(err), Run: r.Run, Runs: r.Runs, Outcome: string(r.Outcome),
		Changed: r.Changed,
		Failed:  r.Failed, Rescued: r.Rescued, Checks: r.Checks, Notes: r.Notes, Pending: r.Pending, Remaining: r.Remaining,
		NotUndone: r.NotUndone,
		ConfirmBy: r.ConfirmBy, Duration: int64(r.Duration), Plan: rundoc.PlanOf(rundoc.PlanFormat, p),
	}
	if err != nil {
		doc.Error = err.Error()
	}
	return doc
}

// outcomeError is the error of an ended run, from the report or from the engine.
func outcomeError(rep *executor.Report, err error) error {
	if rep == nil || err != nil {
		return err
	}
	switch rep.Outcome {
	case "check-failed":
		return executor.ErrCheckFailed
	case "rolled-back":
		return executor.ErrUndone
	case "failed", "interrupted":
		return unfinished(rep)
	}
	return nil
}

// unfinished says how a run ended that neither reached its end nor was undone wholly.
func unfinished(rep *executor.Report) error {
	switch {
	case len(rep.NotUndone) > 0:
		return fmt.Errorf("run %d was undone, except for %s: %s", rep.Run, render.Count(len(rep.NotUndone), "change"),
			addressList(rep.NotUndone))
	case rep.Failed != nil:
		return fmt.Errorf("run %d failed: %s", rep.Run, rep.Failed.Error)
	case rep.Outcome == journal.Interrupted:
		return fmt.Errorf("run %d was interrupted", rep.Run)
	}
	return fmt.Errorf("run %d failed", rep.Run)
}

// addressList is a list of addresses as text.
func addressList(all []addr.Addr) string {
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// explained reports whether the report itself names the problem.
func explained(r *executor.Report) bool {
	for _, c := range r.Checks {
		if !c.OK {
			return true
		}
	}
	return len(r.NotUndone) > 0
}
