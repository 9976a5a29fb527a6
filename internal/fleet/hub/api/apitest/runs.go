package apitest

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Runs is one run of each target, 4.
type Runs struct{}

// Journal implements api.Runs.
func (Runs) Journal(_ context.Context, _ access.Principal, _ fleet.TargetID, offset, limit int) (rundoc.Runs, error) {
	return rundoc.Page([]journal.RunInfo{{Header: journal.Header{Run: 3, Operation: journal.OpApply}},
		{Header: journal.Header{Run: 4, Operation: journal.OpApply}, Outcome: journal.Succeeded}}, offset, limit), nil
}

// Drift implements api.Comparisons.
func (Runs) Drift(_ context.Context, _ access.Principal, _ fleet.TargetID, diffs bool) (rundoc.Plan, error) {
	return motd(rundoc.DriftFormat, diffs), nil
}

// PlanRollback implements api.Comparisons.
func (Runs) PlanRollback(_ context.Context, _ access.Principal, _ fleet.TargetID, _ int,
	diffs bool) (rundoc.Plan, error) {
	return motd(rundoc.PlanFormat, diffs), nil
}

func motd(format string, diffs bool) rundoc.Plan {
	c := plan.Change{Action: plan.Update, Addr: "file:/etc/motd"}
	if diffs {
		c.Diff = "-Hello\n+Hi\n"
	}
	return *rundoc.PlanOf(format, &plan.Plan{Changes: []plan.Change{c}})
}

// Run implements api.Runs.
func (Runs) Run(_ context.Context, _ access.Principal, _ fleet.TargetID, run int, diffs bool) (rundoc.Run, error) {
	if run != 4 {
		return rundoc.Run{}, &document.Problem{Title: "There is no such run", Status: http.StatusNotFound,
			Detail: "cannot find the run", Hint: "List the runs: fettle log -t web1"}
	}
	c := plan.Change{Action: plan.Update, Addr: "file:/etc/motd", State: "file.motd", Source: "web.hcl:3"}
	if diffs {
		c.Diff = "-Hello\n+Hi\n"
	}
	return rundoc.Of(executor.RunDetails{Shown: executor.Shown{
		Info: journal.RunInfo{Header: journal.Header{Run: run, Operation: journal.OpApply}, Outcome: journal.Succeeded,
			Started: lockNoon, Ended: lockNoon + 1e9, Changed: 1},
		Plan: &plan.Plan{Changes: []plan.Change{c}},
		Invocations: []executor.Invocation{{State: "file.motd", Source: "web.hcl:3",
			Parts: []executor.Part{{Addr: c.Addr, Action: c.Action, Outcome: "done"}}}}}, Took: map[int]int64{0: 5e6}}), nil
}
