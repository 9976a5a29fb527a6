package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// errStopped ends one direction of a run; run.failed has the failure.
var errStopped = errors.New("stopped at a failed step")

// cutError ends the run without a last record, because only recovery can determine the state of the
// host.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }

func cutShort(err error) error { return cutError{err} }

func cut(err error) bool {
	var e cutError
	return errors.As(err, &e)
}

// Job is the input of one run.
type Job struct {
	Plan   *plan.Plan
	List   step.List // the complete desired list
	Header journal.Header
	Base   journal.State
	// Goal has the entries of the state that a rollback restores.
	Goal []journal.Entry
}

// Run executes the job. The result is also valid together with an error; the error is the reason why
// the goal was not reached.
func (r *Runner) Run(ctx context.Context, job Job) (Result, error) {
	x, err := r.begin(ctx, job)
	if err != nil {
		return Result{}, err
	}
	defer x.j.Close()
	if err := x.forward(); err != nil {
		return x.result(), err
	}
	return x.finish()
}

// manyChanges is the number of changes above which the stored objects are packed.
const manyChanges = 64

// begin stores all data of the run, then opens its journal. It does not change the host.
func (r *Runner) begin(ctx context.Context, job Job) (*run, error) {
	x := r.newRun(ctx, job)
	r.Store.Pack(len(job.Plan.Changes) >= manyChanges)
	if err := x.keepBlobs(); err != nil {
		return nil, err
	}
	if err := x.keepDocuments(job.List); err != nil {
		return nil, err
	}
	if err := r.Store.SyncObjects(); err != nil {
		return nil, fmt.Errorf("cannot store the data of the run: %w", err)
	}
	j, err := r.Store.Begin(x.header)
	if err != nil {
		return nil, fmt.Errorf("cannot open the journal: %w", err)
	}
	x.j = j
	if r.Armed <= 0 {
		return x, nil
	}
	return x, x.arm()
}

// progress shows a message about the current operation.
func (r *run) progress(p host.Progress) {
	kind := "progress"
	if p.Waits {
		kind = "wait"
	}
	r.Show(Event{Kind: kind, Total: len(r.plan.Changes), Text: p.Text})
}

func (r *Runner) newRun(ctx context.Context, job Job) *run {
	x := &run{Runner: r, ctx: ctx, plan: job.Plan, header: job.Header, base: job.Base,
		fx: make([]effect, len(job.Plan.Changes)), pending: map[addr.Addr]journal.PendingAct{}, goal: map[addr.Addr]journal.Entry{}, swept: map[string]bool{}, told: map[listener]bool{}, faults: map[int]*Failure{}, listeners: map[addr.Addr][]int{}}
	x.env = verb.Env{Host: r.Host, Store: r.Store, Digests: r.Digests, Names: r.Names,
		Progress: x.progress, Note: x.note, Output: func(text string) { x.output = &text }, Claimed: x.claimed, Brought: Brought(job.Base.Entries)}
	x.seal(job)
	x.m = NewMachine(job.Plan, job.List, r.blobSize)
	for _, e := range job.Goal {
		x.goal[e.Addr] = e
	}
	for _, p := range job.Base.Pending {
		x.pending[p.Addr] = p
	}
	for k, c := range job.Plan.Changes {
		for _, a := range c.Cause {
			x.listeners[a] = append(x.listeners[a], k)
		}
	}
	for _, s := range job.List {
		if s.Verb == step.Act {
			x.acts = append(x.acts, actOf{s, addrs(s.All("on")), addrs(s.All("on_failure"))})
		}
	}
	slices.SortStableFunc(x.acts, func(a, b actOf) int { return cmp.Compare(a.turn(), b.turn()) })
	x.wanted, x.ctx = job.List, host.WithMark(ctx, x.mark)
	return x
}

func addrs(in []string) []addr.Addr {
	out := make([]addr.Addr, len(in))
	for i, a := range in {
		out[i] = addr.Addr(a)
	}
	return out
}

func (r *Runner) blobSize(digest string) int64 { return r.Blobs[digest].Size }

// keepBlobs stores all content that the plan will write, so that a rollback, or the recovery after a
// crash, does not need the repository. A step with a secret needs its content even if it only
// compares.
func (r *run) keepBlobs() error {
	for i, c := range r.plan.Changes {
		s := r.m.Step(i)
		for _, d := range s.Blobs() {
			b, ok := r.Blobs[d]
			if !c.Action.Mutates() && c.Action != plan.Adopt && s.Verb == step.Copy || !ok {
				continue // content that is not given is stored already, or prepare reports an error
			}
			if err := r.keepBlob(d, b); err != nil {
				return fmt.Errorf("cannot store the content of %s: %w", c.Addr.Name(), err)
			}
		}
	}
	return nil
}

func (r *run) keepBlob(digest string, b kind.Blob) error {
	got := ""
	if b.Tree == nil {
		var err error
		if got, err = r.Store.PutBytes(b.Data); err != nil {
			return err
		}
	} else {
		rc, err := b.Tree.Open(b.Path)
		if err != nil {
			return err
		}
		defer rc.Close()
		if got, _, err = r.Store.Put(rc); err != nil {
			return err
		}
	}
	if got != digest {
		return fmt.Errorf("%s changed while it was read: run fettle again", b.Path)
	}
	return nil
}

// keepDocuments stores the list and the plan.
func (r *run) keepDocuments(list step.List) (err error) {
	var b bytes.Buffer
	if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
		return fmt.Errorf("cannot store the list: %w", err)
	}
	if r.header.List, err = r.Store.PutBytes(b.Bytes()); err != nil {
		return fmt.Errorf("cannot store the list: %w", err)
	}
	text, err := journal.Marshal(r.plan)
	if err != nil {
		return fmt.Errorf("cannot store the plan: %w", err)
	}
	if r.header.Plan, err = r.Store.PutBytes(text); err != nil {
		return fmt.Errorf("cannot store the plan: %w", err)
	}
	return nil
}

func (r *run) arm() error {
	deadline := r.Now().Add(r.Armed).UnixNano()
	if err := r.Store.Arm(journal.Arming{Run: r.header.Run, Deadline: deadline}); err != nil {
		return fmt.Errorf("cannot arm the run: %w", err)
	}
	return r.log(journal.Record{Kind: journal.Armed, Deadline: deadline})
}

// forward executes the operations of the machine until there are none or a step fails. An error is an
// error of the engine: the journal cannot be written.
func (r *run) forward() error {
	for {
		op, indexes := r.m.Next()
		if op == OpEnd && len(indexes) == 0 {
			return r.lasting()
		}
		if r.ctx.Err() != nil {
			r.interrupted()
			return nil
		}
		err := r.do(op, indexes)
		if errors.Is(err, errStopped) && r.goesOnAfter() {
			continue
		}
		if errors.Is(err, errStopped) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("run %d is interrupted; the next fettle command recovers it: %w", r.header.Run, err)
		}
	}
}

func (r *run) do(op Op, indexes []int) error {
	switch op {
	case OpRecord:
		for _, i := range indexes {
			if err := r.adopt(i); err != nil {
				return err
			}
			r.m.Set(i, Done)
		}
		return nil
	case OpPaths:
		return r.paths(indexes)
	case OpGroup:
		return r.transaction(indexes)
	case OpMove:
		return r.move(indexes[0])
	case OpAct:
		return r.act(indexes[0])
	case OpWait:
		return r.wait(indexes[0])
	case OpCheck:
		return r.check(indexes[0])
	}
	return fmt.Errorf("cannot execute operation %d: it is unknown", op)
}

// interrupted records that the user or the system stopped the run before its end.
func (r *run) interrupted() {
	r.halted = true
	if r.failed == nil {
		r.failed = &Failure{Class: EngineFailed, Error: "interrupted before the end"}
	}
}

// fail marks change i as failed, records this, and runs the actions for the failure.
func (r *run) fail(i int, class Class, err error) error {
	c, said := r.plan.Changes[i], r.masked(err.Error())
	if r.ctx.Err() != nil {
		r.halted, class = true, EngineFailed
	}
	r.m.Set(i, Failed)
	r.faults[i] = &Failure{Class: class, Addr: c.Addr, Step: r.m.Step(i).String(), Source: c.Source, Error: said}
	if r.failed == nil {
		r.failed = r.faults[i]
	}
	r.event("failed", i, said)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: c.Addr, Error: said}
	if r.fx[i].changed && !isPath(c.Addr) {
		rec.From, rec.To = known(r.fx[i].from), known(r.fx[i].to)
	}
	if lerr := r.log(rec); lerr != nil {
		return errors.Join(err, lerr)
	}
	if lerr := r.failureActs(i); lerr != nil {
		return lerr
	}
	return errStopped
}

// log makes records durable.
func (r *run) log(recs ...journal.Record) error {
	if len(recs) == 0 {
		return nil
	}
	if err := r.j.Append(recs...); err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	if err := r.j.Sync(); err != nil {
		return fmt.Errorf("cannot make the journal durable: %w", err)
	}
	return nil
}

func (r *run) start(i int) {
	r.at = i
	r.event("start", i, "")
}

func (r *run) event(what string, i int, text string) {
	c := r.plan.Changes[i]
	r.Show(Event{Kind: what, Index: i, Total: len(r.plan.Changes), Action: c.Shown(), Addr: c.Addr, Text: text})
}

func (r *run) note(text string) {
	text = r.masked(text)
	r.notes = append(r.notes, text)
	r.Show(Event{Kind: "note", Total: len(r.plan.Changes), Text: text})
}

// changed records that change i took effect.
func (r *run) changed(i int) {
	r.fx[i].changed = true
	r.m.Set(i, Done)
	r.event("done", i, "")
}

// finish undoes the run if its policy requires this, and records the outcome.
func (r *run) finish() (Result, error) {
	outcome := journal.Succeeded
	if r.failed == nil && len(r.rescued) > 0 {
		r.failed = r.rescued[0]
	}
	switch {
	case r.failed == nil:
	case r.halted:
		outcome = journal.Interrupted
	case r.failed.Class == VerificationFailed:
		outcome = journal.CheckFailed
	default:
		outcome = journal.Failed
	}
	if r.takesBack(outcome) {
		return r.undoRun()
	}
	return r.end(outcome)
}

func (r *run) takesBack(outcome journal.Outcome) bool {
	switch outcome {
	case journal.Failed, journal.Interrupted:
		return r.header.OnFailure == Undo
	case journal.CheckFailed:
		return r.OnCheckFailure == Rollback || r.header.OnFailure == Undo
	}
	return false
}

// end writes the new state and the last record. The run is complete after that.
func (r *run) end(outcome journal.Outcome) (Result, error) {
	if r.reload {
		r.daemonReload()
	}
	r.sweepPackages()
	if err := r.sweepUp(); err != nil {
		return r.result(), fmt.Errorf("run %d is interrupted; the next fettle command recovers it: %w", r.header.Run, err)
	}
	res := r.result()
	res.Outcome = outcome
	res.State = r.nextState(outcome)
	last := journal.Record{Kind: journal.Commit, Outcome: outcome, Summary: &journal.Summary{Changed: res.Changed}}
	if outcome == journal.RolledBack {
		last.Kind = journal.Undone
	}
	if r.failed != nil {
		last.Error = r.failed.Error
	}
	if err := r.j.End(res.State, last); err != nil {
		return res, fmt.Errorf("cannot record the end of run %d; the next fettle command recovers it: %w", r.header.Run, err)
	}
	return res, nil
}

// known returns the image for a record, or nil if it is unknown.
func known(i image.Image) *image.Image {
	if !i.Known() {
		return nil
	}
	return &i
}

// settleTime limits the work after a cancellation.
const settleTime = 2 * time.Minute
