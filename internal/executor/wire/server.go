package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Served is what Serve needs of the target's side.
type Served struct {
	Hello Hello
	// Open opens the executor; the function releases it. With looks, nothing may be
	// created: without a state directory, fettle treats the machine as never changed.
	Open func(ctx context.Context, looks bool) (executor.Executor, func() error, error)
	// Identity makes the machine's own identity if there is none, and gives its
	// public key.
	Identity func() (string, error)
	// Keep durably stores the report of a run that no client received; Forget removes
	// reports by name. nil stores none.
	Keep   func(Ended) error
	Forget func(names []string) error
	// ReadOnly serves only the target's own data: its state, its history and its drift,
	// without differences of content. Changes are refused. Plans, commands and files are
	// refused too: with them the caller chooses the file to read or the program to run,
	// and could read everything.
	ReadOnly bool
	// Refused is the reason of a refusal, if it is not the caller's permission; nil: it
	// is the permission. ErrUnsigned in its chain lets clients sign the call.
	Refused error
	// Accept accepts a signed call, which is then served although ReadOnly is set. nil
	// accepts none.
	Accept func(signed string) (Accepted, error)
	// Proof is called before a run is confirmed: an error prevents the confirmation. nil:
	// the call itself is sufficient proof of access, as over a new SSH connection.
	Proof func(ctx context.Context) error
	// From is the origin of the connection, for the history.
	From string
	// Silence is as in Options.
	Silence time.Duration
	Now     func() time.Time
}

// server serves one connection.
type server struct {
	Served
	conn *conn

	mu     sync.Mutex // of the executor
	x      executor.Executor
	done   func() error
	looks  bool
	plan   *plan.Plan // the last that was made, and of what
	lists  map[string]*loaded
	store  *content
	states sync.Mutex
	kept   *Ended // a run that ended, until the other end has heard it
}

// Serve serves executors to the other end of a stream. It returns when the other end
// closed the stream or the connection is lost, and the calls in progress have ended. It
// owns the stream. The error is the reason why the connection ended, nil if it was closed
// in order.
func Serve(ctx context.Context, stream io.ReadWriteCloser, s Served) error {
	v := &server{Served: s, lists: map[string]*loaded{}}
	v.conn = newConn(stream, 2, v.methods())
	v.conn.note = func([]byte) { v.heard() }
	v.store = newContent(v.conn)
	if err := v.conn.greet(s.Hello); err != nil {
		return errors.Join(err, stream.Close())
	}
	go v.conn.watch(s.Silence)
	err := v.conn.run(ctx, newReader(stream))
	return errors.Join(err, v.end())
}

// end closes the executor and keeps a report that was not heard.
func (v *server) end() error {
	v.states.Lock()
	kept := v.kept
	v.states.Unlock()
	var err error
	if kept != nil && v.Keep != nil {
		err = v.Keep(*kept)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done != nil {
		err = errors.Join(err, v.done())
	}
	return err
}

func (v *server) heard() {
	v.states.Lock()
	v.kept = nil
	v.states.Unlock()
}

// open returns the executor. A read-only executor is replaced when a call must record
// something. The caller holds mu.
func (v *server) open(ctx context.Context, looks bool) (executor.Executor, error) {
	if v.x != nil && (!v.looks || looks) {
		return v.x, nil
	}
	if v.done != nil {
		if err := v.done(); err != nil {
			return nil, err
		}
		v.x, v.done = nil, nil
	}
	x, done, err := v.Open(ctx, looks)
	if err != nil {
		return nil, err
	}
	v.x, v.done, v.looks = x, done, looks
	if c, ok := x.(keeper); ok {
		v.store.kept = c.Content
	}
	if p, ok := x.(beginner); ok {
		v.store.part = p.OpenPartial
	}
	return x, nil
}

// keeper is an executor that can give content which it has, by digest.
type keeper interface {
	Content(digest string) (io.ReadCloser, bool)
}

// differ is an executor that can fill in the differences of a plan later.
type differ interface {
	Diffs(p *plan.Plan, r executor.Request)
}

// looking is a handler that changes nothing.
func (v *server) looking(f func(context.Context, executor.Executor, *incoming) (any, error)) handler {
	return v.with(true, f)
}

// changing is a handler that records something.
func (v *server) changing(f func(context.Context, executor.Executor, *incoming) (any, error)) handler {
	return v.with(false, f)
}

func (v *server) with(looks bool, f func(context.Context, executor.Executor, *incoming) (any, error)) handler {
	return func(ctx context.Context, c *incoming) (any, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		x, err := v.open(ctx, looks)
		if err != nil {
			return nil, err
		}
		return f(ctx, x, c)
	}
}

// methods are the calls that the other end may make.
func (v *server) methods() map[string]handler {
	all := v.all()
	if v.ReadOnly {
		for name := range all {
			if !slices.Contains(readCalls(), name) {
				all[name] = func(context.Context, *incoming) (any, error) { return nil, v.readOnly(name) }
			}
		}
	}
	all[signedCallName] = v.signed
	return all
}

// all are the calls that there are. Those outside of readCalls change something, or let the
// caller choose what is read and run.
func (v *server) all() map[string]handler {
	return map[string]handler{
		"plan": v.looking(v.makePlan), "plan-rollback": v.looking(v.makeRollback), "drift": v.looking(v.drift),
		"apply": v.changing(v.apply), "rollback": v.changing(v.rollback), "recover": v.changing(v.recover),
		"confirm": v.changing(v.confirm), "freeze": v.changing(v.freeze), "unfreeze": v.changing(v.unfreeze), "collect": v.changing(v.collect),
		"status":      v.looking(func(ctx context.Context, x executor.Executor, _ *incoming) (any, error) { return x.Status(ctx) }),
		"condition":   v.looking(func(ctx context.Context, x executor.Executor, _ *incoming) (any, error) { return x.Condition(ctx) }),
		"runs":        v.looking(func(ctx context.Context, x executor.Executor, _ *incoming) (any, error) { return x.Runs(ctx) }),
		"run-details": v.looking(v.runDetails),
		"show":        v.looking(v.show), "run-of": v.looking(v.runOf), "list": v.looking(v.list),
		"command": v.command, lockedCommand: v.command,
		"put": v.changing(v.put), "get": v.looking(v.get),
		"commands":  v.looking(func(ctx context.Context, x executor.Executor, _ *incoming) (any, error) { return commandsOf(ctx, x) }),
		"identity":  func(context.Context, *incoming) (any, error) { return v.identity() },
		"collected": func(_ context.Context, c *incoming) (any, error) { return nil, v.collected(c) },
	}
}

func (v *server) identity() (string, error) {
	if v.Identity == nil {
		return "", errors.New("cannot send secrets: the target does not create an identity")
	}
	return v.Identity()
}

func (v *server) collected(c *incoming) error {
	var names []string
	if err := c.params(&names); err != nil || v.Forget == nil {
		return err
	}
	return v.Forget(names)
}

// options sets the origin of a command.
func (v *server) options(c *incoming, o executor.Options) executor.Options {
	if o.From = v.From; o.From == "" {
		o.From = "remote"
	}
	if c.signer != "" {
		o.From += ", signed by " + c.signer
	}
	return o
}

func (v *server) makePlan(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in planned
	if err := c.params(&in); err != nil {
		return nil, err
	}
	p, err := v.planOf(ctx, x, in.Request)
	return planAnswer{p}, err
}

// planOf makes a plan first, and compares content only afterwards, so that only content
// that differs is requested from the other end.
func (v *server) planOf(ctx context.Context, x executor.Executor, in request) (*plan.Plan, error) {
	r := v.request(ctx, in)
	d, can := x.(differ)
	if can {
		r.Diffs = false
	}
	p, err := x.Plan(ctx, r)
	v.plan = p
	if p != nil {
		v.store.expect(p)
	}
	if err == nil && can && in.Diffs {
		d.Diffs(p, executor.Request{Blobs: v.store.blobs()})
	}
	return p, err
}

func (v *server) apply(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in applied
	if err := c.params(&in); err != nil {
		return nil, err
	}
	p, err := v.planOrStale(in.Plan, "run: fettle plan", func() (*plan.Plan, error) {
		in.Request.Diffs = false
		return v.planOf(ctx, x, in.Request)
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := v.runContext(ctx, in.OnDisconnect)
	defer cancel()
	began, base := v.Now(), p.Base
	rep, err := x.Apply(ctx, v.request(ctx, in.Request), p, v.options(c, in.Options), v.shower(c))
	return v.ran(ctx, c, x, in.Options, in.OnDisconnect, base, began, rep, err)
}

// planOrStale gives the plan that the other end has seen. It is made again where it
// is not the last that was made here.
func (v *server) planOrStale(digest, hint string, again func() (*plan.Plan, error)) (*plan.Plan, error) {
	if digest != "" && v.plan != nil && v.plan.Digest() == digest {
		return v.plan, nil
	}
	p, err := again()
	if err == nil && digest != "" && p.Digest() != digest {
		err = fmt.Errorf("%w: the host or the applied state has changed since the plan; %s", executor.ErrStale, hint)
	}
	return p, err
}

// runContext is the context of a run. With Finish it survives the loss of the connection.
// Otherwise the run ends in an orderly way with the connection or at a request of the
// other end.
func (v *server) runContext(ctx context.Context, onDisconnect string) (context.Context, context.CancelFunc) {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		lost := errors.Is(context.Cause(ctx), ErrLost)
		if lost && (onDisconnect == "" || onDisconnect == Finish) {
			return
		}
		cancel(cancelled{context.Cause(ctx).Error()})
	})
	return run, func() { stop(); cancel(nil) }
}

// ran undoes a run that the loss of the connection interrupted, if onDisconnect requires
// that, and stores the report until it is received. ctx is the run's context: the error
// does not show the interruption, because an interrupted step counts as failed.
func (v *server) ran(ctx context.Context, c *incoming, x executor.Executor, o executor.Options, onDisconnect string, base int, began time.Time, rep *executor.Report, err error) (any, error) {
	if onDisconnect == Revert && v.isGone() && ctx.Err() != nil && err != nil && !errors.Is(err, executor.ErrUndone) {
		back, berr := v.undoRun(context.WithoutCancel(ctx), c, x, o, base)
		if err = errors.Join(err, berr); back != nil {
			rep = back
		}
	}
	if rep == nil {
		return nil, err
	}
	e := Ended{Report: rep, Command: o.Command, User: o.User, Started: began.UnixNano(), Ended: v.Now().UnixNano()}
	if err != nil {
		e.Error = err.Error()
	}
	v.states.Lock()
	v.kept = &e
	v.states.Unlock()
	return rep, err
}

func (v *server) isGone() bool {
	select {
	case <-v.conn.gone:
		return true
	default:
		return false
	}
}

func (v *server) undoRun(ctx context.Context, c *incoming, x executor.Executor, o executor.Options, base int) (*executor.Report, error) {
	o = v.options(c, o)
	o.Command = "the connection was lost: " + o.Command
	r := executor.RollbackRequest{To: base}
	p, err := x.PlanRollback(ctx, r)
	if err != nil {
		return nil, err
	}
	return x.Rollback(ctx, r, p, o, nil)
}

// shower sends events without ever holding up the run.
func (v *server) shower(c *incoming) func(executor.Event) {
	q := newQueue(func(text []byte) { _ = v.conn.w.sendMessage(typeEvent, c.stream, text) })
	c.events = q
	return func(e executor.Event) {
		if text, err := journal.Marshal(e); err == nil {
			_ = q.put(text) // an event without a reader may be lost
		}
	}
}

func (v *server) makeRollback(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var r executor.RollbackRequest
	if err := c.params(&r); err != nil {
		return nil, err
	}
	p, err := x.PlanRollback(ctx, r)
	v.plan = p
	return planAnswer{p}, err
}

func (v *server) rollback(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in rolledBack
	if err := c.params(&in); err != nil {
		return nil, err
	}
	p, err := v.planOrStale(in.Plan, "show the plan again", func() (*plan.Plan, error) { return x.PlanRollback(ctx, in.Request) })
	if err != nil {
		return nil, err
	}
	began := v.Now()
	run, cancel := v.runContext(ctx, Finish) // going back is never left half done
	defer cancel()
	rep, err := x.Rollback(run, in.Request, p, v.options(c, in.Options), v.shower(c))
	return v.ran(run, c, x, in.Options, Finish, 0, began, rep, err)
}

func (v *server) recover(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in asked
	if err := c.params(&in); err != nil {
		return nil, err
	}
	began := v.Now()
	run, cancel := v.runContext(ctx, Finish)
	defer cancel()
	rep, err := x.Recover(run, v.options(c, in.Options), v.shower(c))
	return v.ran(run, c, x, in.Options, Finish, 0, began, rep, err)
}
