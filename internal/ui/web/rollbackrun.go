package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/plan"
)

// runWithin is the time that a page waits for the end of a run.
const runWithin = 4 * time.Second

// rollBack rolls a target back, if the plan is still the plan that the user saw. The rollback continues on the host if
// it takes longer than the page waits.
func rollBack(v *visit) (text, next string, err error) {
	host, err := hostOf(v)
	if err != nil {
		return "", "", err
	}
	d := rollbackData{hostData: host}
	q, err := d.question(v, v.PostForm.Get("to"))
	if err != nil {
		return "", "", err
	}
	q.within = planWithin + runWithin
	o := executor.Options{User: v.user.Name, Command: q.command}
	if v.host != nil {
		return "", progressOf(d.Name), d.follow(v, q, o)
	}
	var e *ended
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		e, err = d.start(ctx, x, v.PostForm.Get("plan"), o)
		return err
	})
	if err != nil {
		return "", "", err
	}
	text, next = d.result(e)
	return text, next, nil
}

// ended is the end of a run.
type ended struct {
	report *executor.Report
	err    error
}

// start plans again, starts the rollback and waits for its end. It returns nil if the rollback continues.
func (d *rollbackData) start(ctx context.Context, x *wire.Client, digest string, o executor.Options) (*ended, error) {
	r := executor.RollbackRequest{To: d.To}
	p, err := d.check(ctx, x, digest, o.Command)
	if err != nil {
		return nil, err
	}
	done := make(chan *ended, 1)
	run := context.WithoutCancel(ctx) // the end of a page must not stop a run
	go func() {
		rep, err := x.Rollback(run, r, p, o, nil)
		done <- &ended{rep, err}
	}()
	select {
	case e := <-done:
		if e.report == nil && e.err != nil && !errors.Is(e.err, wire.ErrLost) {
			return nil, e.err
		}
		return e, nil
	case <-time.After(runWithin):
		return nil, nil
	}
}

// check plans again. It returns an error if the rollback is not possible now, or has another plan than the user saw.
func (d *rollbackData) check(ctx context.Context, x *wire.Client, digest, command string) (*plan.Plan, error) {
	p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: d.To})
	if err != nil {
		return nil, err
	}
	c, err := x.Condition(ctx)
	if err != nil {
		return nil, err
	}
	d.fill(p, c, x.Hello().Kept, command)
	return p, d.refused(digest)
}

// follow starts the rollback on a host without a hub, where a page follows it.
func (d *rollbackData) follow(v *visit, q question, o executor.Options) error {
	digest := v.PostForm.Get("plan")
	title := "Roll back to " + runName(d.To)
	return startRun(v, q, title, func(ctx context.Context, x *wire.Client, r *hostRun) (*executor.Report, error) {
		p, err := d.check(ctx, x, digest, o.Command)
		if err != nil {
			return nil, err
		}
		r.begin(d.changeList)
		return x.Rollback(ctx, executor.RollbackRequest{To: d.To}, p, o, r.show)
	})
}

// refused returns an error if the rollback is not possible now, or has another plan than the user saw.
func (d *rollbackData) refused(digest string) error {
	p := &document.Problem{Status: http.StatusConflict, Hint: fmt.Sprintf("See the plan again: /targets/%s/rollback?to=%d",
		url.PathEscape(d.Name), d.To)}
	switch {
	case len(d.Refused) > 0:
		p.Title, p.Detail = "The rollback is not possible now", d.Refused[0].Why
	case d.Digest != digest:
		p.Title = "The plan has changed"
		p.Detail = "cannot roll back: the host or its applied state has changed since the page showed the plan"
	default:
		return nil
	}
	return p
}

// result describes the end of a rollback, and returns the page that shows it.
func (d *rollbackData) result(e *ended) (text, next string) {
	next = "/targets/" + url.PathEscape(d.Name) + "/runs"
	to := runName(d.To)
	if e == nil || e.report == nil {
		return "The rollback to " + to + " continues on the host. Load this page again to see its result.", next
	}
	if e.report.Run > 0 {
		next = fmt.Sprintf("%s/%d", next, e.report.Run)
	}
	if e.err != nil {
		return "The rollback to " + to + " failed: " + bounded(e.err.Error()), next
	}
	return fmt.Sprintf("Rolled back to %s: %d changes, %s.", to, e.report.Changed, e.report.Outcome), next
}
