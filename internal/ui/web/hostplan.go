package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// compileWithin is the time for a page that compiles a repository and compares the host with it.
const compileWithin = 2 * time.Minute

// planData is the data of the page that shows what the repository would change on this host.
type planData struct {
	hostData
	Revision repo.Revision
	Digest   string
	Empty    bool
	Unsure   time.Duration // a run undoes itself unless it is confirmed within this time; 0 means that it does not
	Notes    []string
	Refused  []refusal // the reasons why there is no button
	// Repair is the choice of the user about manual changes: repairDrift, keepDrift, or "" for the policy of the
	// repository.
	Repair string
	// Overwritten and Kept are the numbers of manual changes that the run overwrites, and that it keeps.
	Overwritten, Kept int
	Uncommitted       bool // the user applies uncommitted changes
	changeList
}

// The choices about manual changes.
const (
	repairDrift = "overwrite"
	keepDrift   = "keep"
)

// planPage shows the plan of the repository, which changes nothing.
func planPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	d := planData{hostData: host, Repair: v.URL.Query().Get("manual")}
	q := d.question("plan")
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		w, err := d.plan(ctx, x, q.command)
		if err == nil {
			w.closing()
		}
		return err
	})
	if err := d.keepProblem(err); err != nil {
		return nil, err
	}
	return &page{Title: "Plan of " + d.Name, Tab: "/", Template: "plan", Data: d, Command: q.command}, nil
}

func (d *planData) question(verb string) question {
	return question{target: d.Name, command: d.commandLine(verb), changes: true, within: compileWithin}
}

// commandLine returns the command with the same choices.
func (d *planData) commandLine(verb string) string {
	words := slices.Clone(d.host.Repository)
	if flag := map[string]string{repairDrift: "--no-repair=false", keepDrift: "--no-repair"}[d.Repair]; flag != "" {
		words = append(words, flag)
	}
	if d.Uncommitted {
		words = append(words, "--dirty")
	}
	return d.command(verb, words...)
}

// wanted is a request with its plan and its options.
type wanted struct {
	executor.Request
	plan    *plan.Plan
	options executor.Options
	closing func()
}

// plan compiles the repository and plans. If there is no error, the caller closes the repository.
func (d *planData) plan(ctx context.Context, x *wire.Client, command string) (w wanted, err error) {
	if w.Request, w.options, w.closing, err = d.host.Request(ctx); err != nil {
		return w, err
	}
	w.Diffs = true
	switch d.Repair {
	case repairDrift, keepDrift:
		w.Repair = d.Repair == repairDrift
	default:
		d.Repair = ""
	}
	if w.plan, err = x.Plan(ctx, w.Request); err == nil {
		var s executor.Status
		if s, err = x.Status(ctx); err == nil {
			d.fill(w, s, x.Hello().Kept, command)
			return w, nil
		}
	}
	w.closing()
	return w, err
}

// fill sets the data of the answer.
func (d *planData) fill(w wanted, s executor.Status, kept *wire.Kept, command string) {
	p := w.plan
	d.changeList, d.Digest, d.Empty, d.Notes = listChanges(p, command), p.Digest(), p.Empty(), p.Notes
	d.Revision, d.Unsure = w.Revision, w.options.For(p).ConfirmWithin
	for _, c := range p.Changes {
		switch {
		case c.Action == plan.Drift:
			d.Kept++
		case c.Drifted && c.Action.Mutates():
			d.Overwritten++
		}
	}
	apply := d.commandLine("apply")
	d.Refused = d.holds(s.Condition)
	refuse := func(is bool, why, next string) {
		if is {
			d.Refused = append(d.Refused, refusal{Why: why, Next: next})
		}
	}
	refuse(len(p.Purges()) > 0 && !w.options.CrossIrreversible, "Some changes cannot be undone.",
		apply+" --cross-irreversible")
	refuse(kept != nil && kept.Generation > 0 && s.State.List != p.List,
		"An agent manages this host, and would undo the changes.", apply+" --override-agent")
}

// applyPlan starts a run of the repository, if the plan is still the plan that the user saw.
func applyPlan(v *visit) (text, next string, err error) {
	host, err := hostOf(v)
	if err != nil {
		return "", "", err
	}
	d, digest := planData{hostData: host, Repair: v.PostForm.Get("manual"),
		Uncommitted: v.PostForm.Get("uncommitted") != ""}, v.PostForm.Get("plan")
	q := d.question("apply")
	err = startRun(v, q, "Apply", func(ctx context.Context, x *wire.Client, r *hostRun) (*executor.Report, error) {
		w, err := d.plan(ctx, x, q.command)
		if err != nil {
			return nil, err
		}
		defer w.closing()
		if err := d.refused(digest); err != nil {
			return nil, err
		}
		w.options.User, w.options.Command = v.user.Name, q.command
		r.begin(d.changeList)
		return x.Apply(ctx, w.Request, w.plan, w.options, r.show)
	})
	return "", progressOf(d.Name), err
}

// refused returns an error if the run is not possible now, or has another plan than the user saw.
func (d *planData) refused(digest string) error {
	p := &document.Problem{Status: http.StatusConflict,
		Hint: fmt.Sprintf("See the plan again: /targets/%s/plan", url.PathEscape(d.Name))}
	switch {
	case len(d.Refused) > 0:
		p.Title, p.Detail = "The run is not possible now", d.Refused[0].Why
	case d.Revision.Dirty && !d.Uncommitted:
		p.Title = "The repository has uncommitted changes"
		p.Detail = "cannot apply: the form did not choose to apply uncommitted changes too"
	case d.Digest != digest:
		p.Title = "The plan has changed"
		p.Detail = "cannot apply: the repository, the host or its applied state has changed since the page showed the plan"
	default:
		return nil
	}
	return p
}

func progressOf(name string) string { return "/targets/" + url.PathEscape(name) + "/progress" }

// runFunc plans a run, calls begin of the run, and changes the host.
type runFunc func(context.Context, *wire.Client, *hostRun) (*executor.Report, error)

// startRun starts a run that does not end with the request. It returns when the run has begun, or when it is refused.
func startRun(v *visit, q question, title string, do runFunc) error {
	h := v.runs
	base := context.WithoutCancel(v.Context()) // a cancelled connection would not wait for the end of the run
	ctx, cancel := context.WithCancel(base)
	r := &hostRun{owner: h, begun: make(chan struct{}), ended: make(chan struct{}), cancel: cancel,
		data: runState{Title: title, Began: v.now.UnixNano()}}
	q.who = "This host"
	earlier, ok := h.add(r)
	if !ok {
		cancel()
		return &document.Problem{Title: "Another run is in progress", Status: http.StatusConflict,
			Detail: "cannot start a run: these pages already change the host", Hint: "Follow it: " + progressOf(q.target)}
	}
	go func() {
		defer cancel()
		err := connect(base, v, q, func(_ context.Context, x *wire.Client) error {
			rep, err := do(ctx, x, r)
			r.end(rep, err)
			return nil
		})
		if err != nil {
			r.end(nil, err)
		}
	}()
	select {
	case <-r.begun:
		return nil
	case <-r.ended:
	}
	select {
	case <-r.begun:
		return nil
	default:
		h.remove(r, earlier)
		return q.problem(r.failure)
	}
}

// progressData is the data of the page that follows a run.
type progressData struct {
	hostData
	runState
}

// progressPage follows the newest run that these pages started.
func progressPage(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	v.runs.mu.Lock()
	defer v.runs.mu.Unlock()
	d := progressData{hostData: host}
	if v.runs.newest != nil {
		d.runState = v.runs.newest.data.copied()
	}
	return &page{Title: "Progress on " + d.Name, Tab: "/", Template: "progress", Data: d, Command: d.command("log")}, nil
}

// Runs returns the numbers of the runs in the history.
func (d progressData) Runs() []int {
	switch {
	case d.Report == nil:
		return nil
	case len(d.Report.Runs) > 0:
		return d.Report.Runs
	case d.Report.Run > 0:
		return []int{d.Report.Run}
	}
	return nil
}

// Took returns the duration of a run until now or its end.
func (d progressData) Took() string {
	if d.Report == nil {
		return ""
	}
	return tookText(d.Report.Duration)
}

// Result returns the outcome of a run in a word.
func (d progressData) Result() string {
	switch {
	case !d.Ended:
		return "applying"
	case d.Report != nil && d.Report.Outcome != "":
		return string(d.Report.Outcome)
	case d.Failure != "":
		return "failed"
	}
	return "done"
}
