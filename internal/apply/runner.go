package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// Run executes the in. The result is also valid together with an error; the error is the reason why
// the goal was not reached.
func (r *Runner) Run(ctx context.Context, in Input) (Result, error) {
	x, err := r.begin(ctx, in)
	if err != nil {
		return Result{}, err
	}
	defer x.journal.Close()
	if err := x.forward.perform(); err != nil {
		return x.result(), err
	}
	return x.finish()
}

// manyChanges is the number of changes above which the stored objects are packed.
const manyChanges = 64

// begin stores all data of the run, then opens its journal. It does not change the host.
func (r *Runner) begin(ctx context.Context, in Input) (*execution, error) {
	x := r.newRun(ctx, in)
	r.Store.Pack(len(in.Plan.Changes) >= manyChanges)
	if err := x.keepBlobs(); err != nil {
		return nil, err
	}
	if err := x.keepDocuments(in.List); err != nil {
		return nil, err
	}
	if err := r.Store.SyncObjects(); err != nil {
		return nil, fmt.Errorf("cannot store the data of the run: %w", err)
	}
	j, err := r.Store.Begin(x.header)
	if err != nil {
		return nil, fmt.Errorf("cannot open the journal: %w", err)
	}
	x.journal = j
	if r.Armed <= 0 {
		return x, nil
	}
	return x, x.arm()
}

// newRun returns a run with its parts. It has no journal yet.
func (r *Runner) newRun(ctx context.Context, in Input) *execution {
	x := &run{Runner: r, plan: in.Plan, header: in.Header, base: in.Base, wanted: in.List,
		effects: make([]effect, len(in.Plan.Changes)), goal: map[addr.Addr]journal.Entry{}, failures: map[int]*Failure{}}
	x.began = time.Now()
	x.ctx = host.WithMark(ctx, x.mark)
	x.env = verb.Env{Host: r.Host, Store: r.Store, Digests: r.Digests, Names: r.Names,
		Progress: x.progress, Note: x.note, Output: func(text string) { x.output = &text },
		Claimed: x.claimed, Brought: Brought(in.Base.Entries)}
	x.seal(in)
	x.machine = NewMachine(in.Plan, in.List, r.blobSize)
	x.actions = newActions(in)
	for _, e := range in.Goal {
		x.goal[e.Addr] = e
	}
	return newExecution(x)
}

// Recover finishes or undoes the run that a crash interrupted, according to the policy in its header.
// It is idempotent, and can itself be killed at any point. ok is false if there is no interrupted run.
func (r *Runner) Recover(ctx context.Context) (res Result, ok bool, err error) {
	number, ok, err := r.Store.Unfinished()
	if err != nil || !ok {
		return Result{}, ok, err
	}
	x, err := r.reopen(ctx, number)
	if err != nil {
		return Result{Run: number}, true, fmt.Errorf("cannot recover run %d: %w", number, err)
	}
	defer x.journal.Close()
	how := map[bool]string{true: "continued", false: "undone"}[x.recovery.goesOn()]
	x.note(fmt.Sprintf("run %d was interrupted; it is now %s", number, how))
	if !x.recovery.goesOn() {
		res, err = x.undo()
		return res, true, err
	}
	if err := x.recovery.goOn(); err != nil {
		return x.result(), true, err
	}
	x.packages.leaveWhole()
	res, err = x.finish()
	return res, true, err
}

// reopen reconstructs the run from its journal and the state of the host.
func (r *Runner) reopen(ctx context.Context, number int) (*execution, error) {
	j, recs, err := r.Store.Resume(number)
	if err != nil {
		return nil, err
	}
	if len(recs) == 0 || recs[0].Header == nil {
		return nil, errors.New("its journal has no beginning")
	}
	h := *recs[0].Header
	if r.OnCrash != "" {
		h.OnCrash = r.OnCrash
	}
	in, err := r.inputOf(h)
	if err != nil {
		return nil, err
	}
	if err := fits(recs, in.Plan); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	x := r.newRun(ctx, in)
	x.header, x.journal, x.packages.since, x.began = h, j, recs[0].At, time.Unix(0, recs[0].At)
	if err := x.recovery.reap(recs); err != nil {
		return nil, err
	}
	if err := x.recovery.dropTemps(recs); err != nil {
		return nil, err
	}
	x.recovery.replay(recs)
	return x, x.recovery.lookAtOpen(recs)
}

func (r *Runner) inputOf(h journal.Header) (Input, error) {
	text, err := r.Store.ReadObject(h.Plan)
	if err != nil {
		return Input{}, err
	}
	p, err := plan.Read(text)
	if err != nil {
		return Input{}, fmt.Errorf("cannot read the plan of run %d: %w", h.Run, err)
	}
	if text, err = r.Store.ReadObject(h.List); err != nil {
		return Input{}, err
	}
	list, ds := step.Parse("list", text)
	if err := ds.Err(); err != nil {
		return Input{}, err
	}
	base, err := r.Store.StateAt(h.Base)
	if err != nil {
		return Input{}, err
	}
	in := Input{Plan: p, List: list, Header: h, Base: base}
	if h.Operation == journal.OpRollback {
		goal, err := r.Store.StateAt(h.To)
		if err != nil {
			return Input{}, err
		}
		in.Goal = goal.Entries
	}
	return in, nil
}

// RecoverPackages finishes the changes of packages that failed in the last run, toward the goal of that
// run. If no packages failed in it, RecoverPackages does nothing: fettle does not finish the
// interrupted changes of other users.
func (r *Runner) RecoverPackages(ctx context.Context) error {
	last, err := r.Store.State()
	if err != nil || last.Run == 0 {
		return err
	}
	recs, err := r.Store.Read(last.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(recs, func(rec journal.Record) bool {
		return rec.Addr.Kind() == addr.KindPkg &&
			rec.Error != ""
	}) {
		return nil
	}
	if recs[0].Header == nil {
		return nil
	}
	in, err := r.inputOf(*recs[0].Header)
	if err != nil {
		return err
	}
	x := r.newRun(ctx, in)
	x.packages.since = recs[0].At
	if err := x.packages.configurePackages(); err != nil {
		return err
	}
	on, back := x.packages.underWay(recs)
	if x.packages.unfinished == "" { // only configuration can be left then
		on, back = slices.DeleteFunc(on, func(m *verb.GroupMove) bool { return !rests(m.From, m.To) || m.InSync }), nil
	}
	for _, moves := range [][]*verb.GroupMove{on, back} { // together with other packages they may not succeed
		moving := slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return !m.InSync })
		if moving && x.packages.rejectOthers(moves, recs) == nil && (pkg.Pkg{}).MoveAll(x.ctx, x.env, moves) == nil {
			break
		}
	}
	if err := x.packages.repairPackages(); err != nil {
		return x.packages.withCommand(err, on)
	}
	x.packages.sweepPackages()
	return nil
}

// keepBlobs stores all content that the plan will write, so that a rollback, or the recovery after a
// crash, does not need the repository. A step with a secret needs its content even if it only
// compares.
func (r *run) keepBlobs() error {
	for i, c := range r.plan.Changes {
		s := r.machine.Step(i)
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

// claimed returns the packages that the list of the run requires. If the run is undone, it
// returns the packages that the list before it required.
func (r *run) claimed() map[string]bool {
	if !r.machine.Back {
		return pkg.Wanted(r.wanted)
	}
	var before step.List
	for _, e := range r.base.Entries {
		if e.Addr.Kind() == addr.KindPkg {
			before = append(before, e.Step)
		}
	}
	return pkg.Wanted(before)
}
