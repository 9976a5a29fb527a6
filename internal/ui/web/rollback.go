package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/plan"
)

// rollbackData is the data of the page that shows what a rollback of a target would change.
type rollbackData struct {
	hostData
	To     int // the run whose state is restored; 0 is the origin
	Digest string
	Empty  bool
	Notes  []string
	// Refused are the reasons why there is no button, each with the next steps.
	Refused []refusal
	changeList
}

// rollbackPage shows the plan of a rollback, which changes nothing.
func rollbackPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := rollbackData{hostData: host}
	q, err := d.question(v, v.URL.Query().Get("to"))
	if err != nil {
		return nil, err
	}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: d.To, Diffs: true})
		if err != nil {
			return err
		}
		c, err := x.Condition(ctx)
		d.fill(p, c, x.Hello().Kept, q.command)
		return err
	})
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	p := &page{Title: fmt.Sprintf("Roll back %s to %s", d.Name, runName(d.To)), Tab: "/", Template: "rollback", Data: d,
		Command: q.command}
	if v.host == nil {
		p.Address = address(route.RollbackPlan(), route.TargetRun{Target: d.Name, Run: d.To, Diff: true})
	}
	return p, nil
}

// question returns the question about a rollback to a run.
func (d *rollbackData) question(v *visit, to string) (question, error) {
	if !mayOperate(v.user) {
		return question{}, &document.Problem{Title: "You may not roll back " + d.Name, Status: http.StatusForbidden,
			Detail: "cannot plan a rollback: it needs the right operate", Hint: "See the runs of " + d.Name + " instead"}
	}
	n, err := strconv.Atoi(to)
	if err != nil || n < 0 {
		return question{}, &document.Problem{Title: "The run is wrong", Status: http.StatusBadRequest,
			Detail: fmt.Sprintf("cannot roll back to %.40q: it must be the number of a run, or 0 for the origin", to),
			Hint:   "List the runs: " + d.command("log")}
	}
	d.To = n
	return question{target: d.Name, command: d.command("rollback", strconv.Itoa(n)),
		changes: true, within: planWithin}, nil
}

// fill sets the data of the answer.
func (d *rollbackData) fill(p *plan.Plan, c executor.Condition, kept *wire.Kept, command string) {
	d.changeList, d.Digest, d.Empty, d.Notes = listChanges(p, command), p.Digest(), p.Empty(), p.Notes
	d.Refused = d.holds(c)
	refuse := func(is bool, why, next string) {
		if is {
			d.Refused = append(d.Refused, refusal{Why: why, Next: next})
		}
	}
	stop, how := "The agent would undo the rollback immediately. Freeze the target first, or pin it to the commit.",
		commandOf("fettle", "target", "freeze", d.Name)
	if d.host != nil {
		stop, how = "The agent would undo the rollback immediately. Stop it first.", "systemctl stop fettle-agent"
	}
	refuse(kept.Undoes(p), stop, how)
	refuse(len(p.Irreversible()) > 0, "Some changes cannot be undone. With --cross-irreversible, their effects stay.",
		command+" --cross-irreversible")
}

// runName returns the name of the state after a run.
func runName(run int) string {
	if run == 0 {
		return "the origin"
	}
	return fmt.Sprint("run ", run)
}
