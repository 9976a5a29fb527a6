package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/hint"
)

// Limits of a question to an agent. Its answer is not trusted.
const (
	answerWithin = 5 * time.Second  // for data of its journal
	planWithin   = 15 * time.Second // for a comparison with the host
	maxAnswer    = 16 << 20         // bytes of one message
)

// question is a question to the agent of a target.
type question struct {
	target  string
	command string // the same question on the command line
	changes bool   // it needs the right to change the target
	within  time.Duration
	who     string // in an error; "" means the agent of the target
}

// ask opens the executor of a target, as the command line does, and calls f with it. The error is a *document.Problem
// for display.
func ask(v *visit, q question, f func(context.Context, *wire.Client) error) error {
	leave, err := v.asks.enter(v.user.Name)
	if err != nil {
		return err
	}
	defer leave()
	if v.host != nil {
		q.who = "This host"
	}
	ctx, cancel := context.WithTimeoutCause(v.Context(), q.within, errSlow)
	defer cancel()
	err = connect(ctx, v, q, f)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return q.problem(err)
}

// errSlow is the cause of the end of a question whose time is over.
var errSlow = errors.New("the agent did not answer in time")

func connect(ctx context.Context, v *visit, q question, f func(context.Context, *wire.Client) error) error {
	stream, err := v.client.Executor(ctx, q.target, q.changes, q.command)
	if err != nil {
		return err
	}
	x, err := wire.Dial(ctx, stream, wire.Options{MaxMessage: maxAnswer})
	if err != nil {
		return err
	}
	defer x.Close()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })() // an agent need not obey a cancelled call
	return f(ctx, x)
}

// problem returns an error of a question for display.
func (q question) problem(err error) error {
	if p, ok := errors.AsType[*document.Problem](err); ok || err == nil {
		if ok {
			return p
		}
		return nil
	}
	who := cmp.Or(q.who, "The agent of "+q.target)
	p := &document.Problem{Title: who + " cannot answer", Status: http.StatusBadGateway,
		Detail: err.Error(), Hint: "Ask it on the command line: " + q.command}
	if text, ok := hint.Of(err); ok {
		p.Hint = text
	}
	switch {
	case errors.Is(err, errSlow):
		p.Title, p.Status = who+" does not answer", http.StatusGatewayTimeout
		p.Detail = fmt.Sprintf("cannot read from the host: no complete answer within %s", q.within)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, wire.ErrUnsigned):
		p.Title, p.Status = cmp.Or(q.who, "The host of "+q.target)+" refuses this", http.StatusForbidden
	case errors.Is(err, fs.ErrNotExist):
		p.Status = http.StatusNotFound
	}
	return p
}

// hostData is the data of a page about the host of a target: the last known state at the hub, and the reason why the
// agent gave no answer.
type hostData struct {
	document.TargetDetail
	Name    string
	Problem *document.Problem
	host    *Host
}

// command returns a command line about the host of a target.
func (d *hostData) command(verb string, rest ...string) string {
	if d.host != nil {
		return commandOf(slices.Concat([]string{"fettle", verb}, d.host.Flags, rest)...)
	}
	return commandOf(slices.Concat([]string{"fettle", verb, "-t", d.Name}, rest)...)
}

// hostOf reads the last known state of the target of a page.
func hostOf(v *visit) (hostData, error) {
	d, err := get(v, route.Target(), route.TargetName{Target: v.PathValue("target")})
	if err != nil {
		return hostData{}, err
	}
	return hostData{TargetDetail: d, Name: nameOf(d), host: v.host}, nil
}

// nameOf returns the name of a target for addresses and commands.
func nameOf(d document.TargetDetail) string {
	if d.Target.Name != "" {
		return d.Target.Name
	}
	return string(d.Target.ID)
}

// keepProblem stores the problem of a question. It returns other errors.
func (d *hostData) keepProblem(err error) error {
	if p, ok := errors.AsType[*document.Problem](err); ok {
		d.Problem = p
		return nil
	}
	return err
}

// refusal is a reason why something is not possible, with the next steps of the user.
type refusal struct {
	Why, Next string
	Page      string // that has a button for the next step; "" means that there is none
	Button    string // the text of the link to the page
}

// holds returns the reasons why a host must not be changed now, each with the next steps.
func (d *hostData) holds(c executor.Condition) (out []refusal) {
	if c.Locked != "" {
		out = append(out, refusal{Why: "Another process changes the host: " + c.Locked, Next: "Wait until it has ended."})
	}
	if c.Unfinished > 0 {
		out = append(out, d.linked(refusal{
			Why:  fmt.Sprintf("Run %d has not ended: it crashed, or another process continues it.", c.Unfinished),
			Next: d.command("recover")}, "recover", "Undo or finish it"))
	}
	if c.Armed != nil {
		out = append(out, d.linked(refusal{
			Why:  fmt.Sprintf("Run %d waits for its confirmation, and otherwise undoes itself.", c.Armed.Run),
			Next: d.command("confirm")}, "confirm", "Confirm it"))
	}
	if c.Frozen != nil {
		out = append(out, refusal{Why: "The host was frozen by " + c.Frozen.By + ": " + c.Frozen.Why,
			Next: d.command("unfreeze")})
	}
	return out
}

// linked adds the link to a page, which only a host without a hub has.
func (d *hostData) linked(r refusal, path, text string) refusal {
	if d.host != nil {
		r.Page, r.Button = "/targets/"+url.PathEscape(d.Name)+"/"+path, text
	}
	return r
}
