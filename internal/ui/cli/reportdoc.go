package cli

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
)

// reportDoc is how a run ended, as a document.
type reportDoc struct {
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
	ConfirmBy int64                  `json:"confirm_by,omitempty"`
	Duration  int64                  `json:"duration_ns"`
	Plan      *planDoc               `json:"plan,omitempty"`
}

func reportJSON(r *executor.Report, p *plan.Plan, err error) reportDoc {
	doc := reportDoc{
		Format: "fettle.report/1", Exit: ExitCode(err), Run: r.Run, Runs: r.Runs, Outcome: string(r.Outcome), Changed: r.Changed,
		Failed: r.Failed, Rescued: r.Rescued, Checks: r.Checks, Notes: r.Notes, Pending: r.Pending, Remaining: r.Remaining,
		ConfirmBy: r.ConfirmBy, Duration: int64(r.Duration), Plan: planJSON("fettle.plan/1", p),
	}
	if err != nil {
		doc.Error = err.Error()
	}
	return doc
}
