package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/journal"
)

// overviewData is the data of the page with the state of a host.
type overviewData struct {
	hostData
	Status executor.Status
	Last   *run // nil means that nothing was applied
	Holds  []refusal
	Kept   *wire.Kept // the assignment of an agent, or nil
}

// overviewPage shows the state of the host of a site without a hub.
func overviewPage(v *visit) (*page, error) {
	if v.PathValue("target") == "" {
		v.SetPathValue("target", v.host.Name)
	}
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := overviewData{hostData: host}
	q := question{target: d.Name, command: d.command("status"), within: answerWithin}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		s, err := x.Status(ctx)
		if err == nil {
			d.fill(s, x)
		}
		return err
	})
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	return &page{Title: d.Name, Tab: "/", Template: "overview", Data: d, Command: q.command}, nil
}

// fill sets the data of the answer.
func (d *overviewData) fill(s executor.Status, x *wire.Client) {
	d.Status, d.Kept = s, x.Hello().Kept
	if s.Last != nil {
		d.Last = &run{*s.Last}
	}
	d.Holds = d.holds(s.Condition)
}

// unendedData is the data of the pages about a run that is not over: it awaits its confirmation, or was interrupted.
type unendedData struct {
	hostData
	Armed   *journal.Arming
	Undo    string // the command that undoes an armed run now
	Run     int    // to recover; 0 means that there is none
	Late    bool   // the run was not confirmed in time
	OnCrash string // the setting of the run: undo or finish
	Refused []refusal
	changeList
}

// confirmPage shows the run that awaits its confirmation.
func confirmPage(v *visit) (*page, error) {
	d, q, err := unended(v, "confirm", func(d *unendedData, c executor.Condition) (run int) {
		if d.Armed = c.Armed; d.Armed == nil {
			return 0
		}
		return d.Armed.Run
	})
	if err != nil {
		return nil, err
	}
	d.Undo = d.command("rollback")
	return &page{Title: "Confirm a run of " + d.Name, Tab: "/", Template: "confirm", Data: d, Command: q.command}, nil
}

// recoverPage shows the run that was interrupted, or was not confirmed in time.
func recoverPage(v *visit) (*page, error) {
	d, q, err := unended(v, "recover", func(d *unendedData, c executor.Condition) int {
		d.Run, d.Late = toRecover(c, v.now)
		return d.Run
	})
	if err != nil {
		return nil, err
	}
	return &page{Title: "Recover a run of " + d.Name, Tab: "/", Template: "recover", Data: d, Command: q.command}, nil
}

// toRecover returns the run that a recovery is about, or 0. late means that it was not confirmed in time.
func toRecover(c executor.Condition, now time.Time) (run int, late bool) {
	if c.Unfinished == 0 && c.Armed != nil && now.UnixNano() >= c.Armed.Deadline {
		return c.Armed.Run, true
	}
	return c.Unfinished, false
}

// unended reads the run that find selects.
func unended(v *visit, verb string, find func(*unendedData, executor.Condition) int) (d unendedData, q question,
	err error) {
	if d.hostData, err = hostOf(v); err != nil {
		return d, q, err
	}
	q = question{target: d.Name, command: d.command(verb), changes: true, within: answerWithin}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		c, err := x.Condition(ctx)
		if err != nil {
			return err
		}
		if run := find(&d, c); run > 0 {
			err = d.fill(ctx, x, c, run)
		}
		return err
	})
	return d, q, d.keepProblem(err)
}

// fill reads the changes of a run.
func (d *unendedData) fill(ctx context.Context, x *wire.Client, c executor.Condition, run int) error {
	s, err := showRun(ctx, x, &d.hostData, run)
	if err != nil {
		return err
	}
	d.OnCrash = cmp.Or(s.Info.Header.OnCrash, "undo")
	d.changeList = listChanges(s.Plan, d.command("show", strconv.Itoa(run)))
	d.outcomes(s.Invocations)
	if c.Locked != "" { // a frozen host can be recovered
		d.Refused = d.holds(executor.Condition{Locked: c.Locked})
	}
	return nil
}

// confirmRun confirms the run that the user saw.
func confirmRun(v *visit) (text, next string, err error) {
	host, err := hostOf(v)
	if err != nil {
		return "", "", err
	}
	q := question{target: host.Name, command: host.command("confirm"), changes: true, within: answerWithin}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		c, err := x.Condition(ctx)
		if err != nil {
			return err
		}
		if c.Armed == nil || strconv.Itoa(c.Armed.Run) != v.PostForm.Get("run") || v.PostForm.Get("login") == "" {
			return &document.Problem{Title: "The run cannot be confirmed", Status: http.StatusConflict,
				Detail: "cannot confirm: the run no longer waits for it, or the form did not confirm a new login",
				Hint:   "See the runs: " + host.command("log")}
		}
		n, err := x.Confirm(ctx, executor.Options{User: v.user.Name, Command: q.command})
		text = fmt.Sprintf("Run %d is confirmed and stays.", n)
		return err
	})
	return text, "/", err
}

// recoverRun undoes or finishes the run that the user saw.
func recoverRun(v *visit) (text, next string, err error) {
	host, err := hostOf(v)
	if err != nil {
		return "", "", err
	}
	how := v.PostForm.Get("how")
	if how != "undo" && how != "finish" {
		return noRecovery("cannot recover: the form must choose undo or finish")
	}
	d := unendedData{hostData: host}
	q := question{target: d.Name, command: d.command("recover", "--on-crash", how), changes: true}
	title := fmt.Sprintf("Recover run %s: %s", v.PostForm.Get("run"), how)
	err = startRun(v, q, title, func(ctx context.Context, x *wire.Client, r *hostRun) (*executor.Report, error) {
		c, err := x.Condition(ctx)
		if err != nil {
			return nil, err
		}
		run, _ := toRecover(c, v.now)
		if run == 0 || strconv.Itoa(run) != v.PostForm.Get("run") {
			_, _, err := noRecovery("cannot recover: the run has ended since the page showed it")
			return nil, err
		}
		if err := d.fill(ctx, x, c, run); err != nil {
			return nil, err
		}
		if len(d.Refused) > 0 {
			_, _, err := noRecovery(d.Refused[0].Why)
			return nil, err
		}
		r.begin(d.changeList)
		return x.Recover(ctx, executor.Options{User: v.user.Name, Command: q.command, OnCrash: how}, r.show)
	})
	return "", progressOf(d.Name), err
}

func noRecovery(detail string) (text, next string, err error) {
	return "", "", &document.Problem{Title: "The run is not recovered", Status: http.StatusConflict, Detail: detail,
		Hint: "See the state of the host on the page Overview"}
}
