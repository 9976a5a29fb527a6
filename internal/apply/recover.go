package apply

import (
	"context"
	"errors"
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// Recover settles the run that a crash left unfinished, as its header says: it
// is undone, or finished. It is idempotent and may itself be killed at any
// point. ok is false when there is nothing to settle.
func (r *Runner) Recover(ctx context.Context) (res Result, ok bool, err error) {
	number, ok, err := r.Store.Unfinished()
	if err != nil || !ok {
		return Result{}, ok, err
	}
	x, err := r.reopen(ctx, number)
	if err != nil {
		return Result{Run: number}, true, fmt.Errorf("cannot settle run %d: %w", number, err)
	}
	defer x.j.Close()
	x.note(fmt.Sprintf("run %d was cut short; %s", number, map[bool]string{true: "going on with it", false: "taking it back"}[x.goesOn()]))
	if !x.goesOn() {
		res, err = x.undoRun()
		return res, true, err
	}
	if err := x.goOn(); err != nil {
		return x.result(), true, err
	}
	x.leaveWhole()
	res, err = x.finish()
	return res, true, err
}

// goOn finishes the run. Validations and those who listen for failures may not
// have come to their turn.
func (r *run) goOn() error {
	for i := range r.plan.Changes {
		if r.m.Status(i) == Failed {
			if err := r.failureActs(i); err != nil {
				return err
			}
		}
	}
	for r.failed == nil || r.goesOnAfter() {
		err := r.validateInPlace(r.made())
		if err == nil {
			return r.forward()
		}
		if !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// made are the changes that are done, by index.
func (r *run) made() []int {
	var out []int
	for i := range r.plan.Changes {
		if r.m.Status(i) == Done {
			out = append(out, i)
		}
	}
	return out
}

// goesOn tells whether an interrupted run is finished rather than undone.
func (r *run) goesOn() bool { return r.header.OnCrash == Finish && !r.undoing }

// reopen builds the run again from its journal and from what is on the machine.
func (r *Runner) reopen(ctx context.Context, number int) (*run, error) {
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
	job, err := r.jobOf(h)
	if err != nil {
		return nil, err
	}
	if err := fits(recs, job.Plan); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	x := r.newRun(ctx, job)
	x.header, x.j, x.began = h, j, recs[0].At
	if err := x.reap(recs); err != nil {
		return nil, err
	}
	if err := x.dropTemps(recs); err != nil {
		return nil, err
	}
	x.replay(recs)
	return x, x.lookAtOpen(recs)
}

func (r *Runner) jobOf(h journal.Header) (Job, error) {
	text, err := r.Store.ReadObject(h.Plan)
	if err != nil {
		return Job{}, err
	}
	var p plan.Plan
	if err := journal.Unmarshal(text, &p); err != nil {
		return Job{}, fmt.Errorf("cannot read its plan: %w", err)
	}
	if text, err = r.Store.ReadObject(h.List); err != nil {
		return Job{}, err
	}
	list, ds := step.Parse("list", text)
	if err := ds.Err(); err != nil {
		return Job{}, err
	}
	base, err := r.Store.StateAt(h.Base)
	if err != nil {
		return Job{}, err
	}
	job := Job{Plan: &p, List: list, Header: h, Base: base}
	if h.Operation == journal.OpRollback {
		goal, err := r.Store.StateAt(h.To)
		if err != nil {
			return Job{}, err
		}
		job.Goal = goal.Entries
	}
	return job, nil
}

// dropTemps removes every temporary that the journal names, and no other.
func (r *run) dropTemps(recs []journal.Record) error {
	var errs []error
	for _, rec := range recs {
		if rec.Temp != "" {
			r.sweep(path.Dir(rec.Temp))
			errs = append(errs, move.RemoveTemp(r.Host, rec.Temp))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot remove what was staged: %w", err)
	}
	return nil
}

// lookAtOpen settles the changes that were under way: the machine itself tells
// on which side of its move each is.
func (r *run) lookAtOpen(recs []journal.Record) error {
	seen := map[int]bool{}
	for _, rec := range recs {
		i := rec.Change
		open := (rec.Kind == journal.Move || rec.Kind == journal.Intent) && !rec.Back && rec.Addr.Kind() != addr.KindAct
		if !open || i >= len(r.fx) || seen[i] || r.m.Status(i) == Done || r.m.Status(i) == Undone {
			continue
		}
		seen[i] = true
		look := r.lookAtMover
		if isPath(rec.Addr) {
			look = r.lookAtPath
		}
		if err := look(i); err != nil {
			return err
		}
	}
	return nil
}

// lookAtPath settles a path change whose batch was not done.
func (r *run) lookAtPath(i int) error {
	fx := &r.fx[i]
	for _, pm := range fx.moves {
		now, err := r.whole(pm)
		if err != nil {
			return err
		}
		switch {
		case now.File.Same(pm.from) && !pm.touched(now.File): // not begun
			fx.moves = nil
			return r.isBack(i, pm)
		case r.m.Status(i) == Failed:
			fx.moves = nil // it was put back before that was recorded
			return nil
		case !r.goesOn():
			fx.changed = true
			r.m.Set(i, Done) // so that it is undone
		case now.File.Same(pm.to):
			return r.visible(i, pm)
		default:
			return r.untear(i, pm)
		}
	}
	return nil
}

// isBack notes that a path is where it was before its change. It need not be so
// later: undoing a change before it may put yet another thing there, and a
// recovery after that must not look again.
func (r *run) isBack(i int, pm pathMove) error {
	if r.m.Status(i) == Failed {
		return nil // which says as much
	}
	return r.ahead(journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path, Back: true})
}

// visible takes in a move that is there already, and durable only from here on.
func (r *run) visible(i int, pm pathMove) error {
	if err := move.SyncFS(r.Host, []string{path.Dir(pm.path)}); err != nil {
		return err
	}
	r.fx[i].changed = true
	r.m.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path}
	return r.log(append([]journal.Record{rec}, r.settled(i)...)...)
}

// untear puts a path that was on its way back, so that the change can be done
// again. One that somebody else has changed since stays, and is a failure.
func (r *run) untear(i int, pm pathMove) error {
	r.fx[i].moves = nil
	m, err := r.backMove(i, pm)
	if err != nil {
		return r.unfinished(i, fmt.Errorf("the run was cut short in the middle of it, and %w; look, then run fettle apply again", err))
	}
	if m == nil {
		return nil
	}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

// unfinished fails change i without ending recovery.
func (r *run) unfinished(i int, err error) error {
	if err = r.fail(i, EngineFailed, err); errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// lookAtMover settles a change that is no path.
func (r *run) lookAtMover(i int) error {
	s, fx := r.m.Step(i), &r.fx[i]
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil
	}
	if s.Verb == step.Pkg {
		if err := r.configurePackages(); err != nil {
			return err
		}
	}
	if s.Verb == step.Unit {
		r.daemonReload() // systemd does first what the killed run had asked for, and shows it only then
	}
	now, err := v.Observe(r.ctx, r.env, s)
	if err != nil {
		return r.unseen(i, err)
	}
	intended := fx.from.Known()
	if !intended { // no more than its home was taken away
		fx.from, fx.to = now, now
	}
	known := s.Verb != step.Exec || now.Exec.Known
	begun := !known || !now.Same(fx.from) || r.remains(now, fx.from)
	switch {
	case !r.goesOn():
		r.openBack(v, i, now, begun)
	case r.m.Status(i) == Failed:
		fx.changed = begun
	case !begun: // it is done again, from the beginning
		if intended && accounts(s.Verb) {
			fx.found = fx.from // half of it may be there and not show
			if r.homeMade(i) {
				return r.homeAway(i)
			}
		}
	case !known:
		return r.unsure(i)
	case intended && accounts(s.Verb):
		r.complete(v, i) // the files that hold an account change one after the other
		if now, err = v.Observe(r.ctx, r.env, s); err != nil {
			return r.unseen(i, err)
		}
		return r.resumed(v, i, now)
	default:
		return r.resumed(v, i, now)
	}
	return nil
}

// openBack marks a change that was under way to be undone. Of an account,
// half may be there although it does not show: it is made whole first, since
// undoing is the way from a whole one.
func (r *run) openBack(v verb.Verb, i int, now image.Image, begun bool) {
	s, fx := r.m.Step(i), &r.fx[i]
	if !begun && !accounts(s.Verb) && len(fx.moves) == 0 {
		return
	}
	if accounts(s.Verb) && fx.to.Known() {
		r.complete(v, i)
		if whole, err := v.Observe(r.ctx, r.env, s); err == nil {
			now = whole
		}
	}
	fx.changed = true
	if s.Verb != step.Exec {
		fx.to = now
	}
	r.m.Set(i, Done)
}

// complete does what is left of a change that was under way.
func (r *run) complete(v verb.Verb, i int) {
	if err := v.(verb.Mover).Move(r.ctx, r.env, r.m.Step(i), r.fx[i].from, r.fx[i].to); err != nil {
		r.note(fmt.Sprintf("%s is half changed: %v", r.plan.Changes[i].Addr, err))
	}
	r.Names.Forget()
}

// resumed takes in a change that a crashed run did, or leaves it to be done
// again when it is half done; what it found at first is kept then.
func (r *run) resumed(v verb.Verb, i int, now image.Image) error {
	fx := &r.fx[i]
	t, err := r.leadsTo(v, i, now)
	if err != nil || !t.Same(now) || r.remains(now, t) {
		fx.found = fx.from
		return nil
	}
	if r.homeMade(i) { // all of it once more
		if err := r.homeAway(i); err != nil {
			return err
		}
		fx.found = fx.from
		return v.(verb.Mover).Move(r.ctx, r.env, r.m.Step(i), now, fx.from)
	}
	fx.to, fx.changed = now, true
	if err := r.settleMachine(); err != nil {
		return err
	}
	r.m.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(fx.from), To: known(now)}
	return r.log(append([]journal.Record{rec}, r.settled(i)...)...)
}

// homeMade tells whether the change was to make an account with its home.
func (r *run) homeMade(i int) bool {
	from := r.fx[i].from.User
	return from != nil && !from.Present && from.HomeMade && r.fx[i].to.User != nil
}

// homeAway takes away, kept whole, what a crashed attempt made of a home. Who
// owns it, and what is in it, need not have reached the disk with it, and tools
// leave a home alone that is there.
func (r *run) homeAway(i int) error {
	home := r.fx[i].to.User.Home
	taken, err := capture.TakeTree(r.Host, r.Store, home)
	if err != nil || taken.Type != image.Directory || path.Clean(home) == "/" {
		return err
	}
	away := &move.Move{Change: i, Path: home, From: taken, To: image.File{Type: image.Absent}, Temp: move.TempFor(home, r.header.Run, i, true)}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{away}}, true)
	return err
}

// unseen settles a change whose address cannot be looked at now.
func (r *run) unseen(i int, err error) error {
	if r.goesOn() {
		return r.unfinished(i, err)
	}
	if r.fx[i].from.Known() {
		r.fx[i].changed = true
		r.m.Set(i, Done) // taking it back tells whether that can be done
	}
	return nil
}

// unsure stops at a command that was running when the crash came: nothing can
// tell whether it took effect, and it must not take effect twice.
func (r *run) unsure(i int) error {
	r.fx[i].changed = false
	return r.unfinished(i, errors.New("it was running when the run was cut short, and it has no guard that could tell whether it took effect; look, then run fettle apply again, which runs it again"))
}
