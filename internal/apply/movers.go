package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
	"fettle.dev/fettle/internal/verb/verbs"
)

// move runs one change that is not a path: it records the intent, acts, and records the result.
func (r *run) move(i int) error {
	s := r.m.Step(i)
	v, ok := verbs.For(s.Verb)
	if !ok {
		return r.fail(i, StepFailed, fmt.Errorf("cannot run %q: this version of fettle does not support the verb", s))
	}
	r.start(i)
	r.reloadFor(s)
	from, to, err := r.images(v, i)
	if err != nil {
		return r.fail(i, StepFailed, err)
	}
	if r.asked(i, from) {
		from = image.Image{Exec: &image.Exec{Known: true}}
	}
	if from.Same(to) {
		return r.unchanged(i)
	}
	r.output = nil
	if from, err = r.homeWith(i, from, to); err != nil {
		if cut(err) {
			return err
		}
		return r.fail(i, StepFailed, err)
	}
	from = r.madeHome(from, to, s)
	if err := r.log(r.intent(i, from, to)); err != nil {
		return err
	}
	err = v.(verb.Mover).Move(r.ctx, r.env, s, from, to)
	if err != nil && accounts(s.Verb) {
		err = r.onceMore(v.(verb.Mover), i, from, to, err)
	}
	return r.moved(v, i, from, to, err)
}

// images returns the present image of an address and the image after the change.
func (r *run) images(v verb.Verb, i int) (from, to image.Image, err error) {
	c, s := r.plan.Changes[i], r.m.Step(i)
	if from, err = v.Observe(r.ctx, r.env, s); err != nil {
		return from, to, err
	}
	if c.To != nil && c.Action == plan.Remove && from.Exec != nil {
		from = *c.From
	}
	to, err = r.leadsTo(v, i, from)
	return from, to, err
}

// leadsTo returns the image that change i produces from the found image.
func (r *run) leadsTo(v verb.Verb, i int, from image.Image) (image.Image, error) {
	c := r.plan.Changes[i]
	if c.To != nil && (c.Action == plan.Remove || c.Action == plan.Restore && exact(*c.To)) {
		return *c.To, nil
	}
	if r.stillAsksFor(v, r.m.Step(i), c.Then) && exact(*c.Then) {
		return *c.Then, nil
	}
	return v.Target(r.m.Step(i), from, r.Names)
}

// onceMore repeats a failed change of an account, because it may have changed only some of the account
// files. If the second attempt also fails, it undoes the change as far as possible.
func (r *run) onceMore(mv verb.Mover, i int, from, to image.Image, failed error) error {
	ctx := context.WithoutCancel(r.ctx)
	if mv.Move(ctx, r.env, r.m.Step(i), from, to) == nil {
		return nil
	}
	if err := mv.Move(ctx, r.env, r.m.Step(i), to, from); err != nil {
		r.note(fmt.Sprintf("%s is partly changed: %v", r.plan.Changes[i].Addr, err))
	}
	for _, pm := range r.fx[i].moves {
		if err := r.home(i, pm); err != nil {
			r.note(fmt.Sprintf("cannot restore %s: %v", pm.path, err))
		}
	}
	r.fx[i].moves = nil
	return failed
}

// home restores a home directory that was removed with its account.
func (r *run) home(i int, pm pathMove) error {
	m, err := r.backMove(i, pm)
	if err != nil || m == nil {
		return err
	}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

func accounts(v step.Verb) bool { return v == step.User || v == step.Group || v == step.Member }

// exact reports whether an image was captured from a host, not computed. A captured image is restored
// exactly.
func exact(i image.Image) bool {
	return i.Unit != nil || i.User != nil && len(i.User.Lines) > 0 || i.Group != nil && len(i.Group.Lines) > 0 ||
		i.Package != nil && (len(i.Package.Also) > 0 || i.Package.Version != "" && i.Package.Version != pkg.Candidate)
}

func (r *run) intent(i int, from, to image.Image) journal.Record {
	return journal.Record{Kind: journal.Intent, Change: i, Addr: r.plan.Changes[i].Addr, From: known(r.before(i, from)), To: known(to), Back: r.m.Back}
}

// before returns the before-image of change i, from the first attempt.
func (r *run) before(i int, from image.Image) image.Image {
	if found := r.fx[i].found; found.Known() && !r.m.Back {
		return found
	}
	return from
}

// settleMachine syncs the file systems to which programs wrote, before the journal records the change
// as done. useradd, dpkg and similar tools may not sync their files.
func (r *run) settleMachine() error {
	dirs := []string{"/"}
	for _, d := range []string{"/boot", "/etc", "/home", "/usr", "/var"} {
		if st, err := r.Host.Lstat(d); err == nil && st.Type == image.Directory {
			dirs = append(dirs, d)
		}
	}
	return move.SyncFS(r.Host, dirs)
}

// moved captures the result of an operation and records it.
func (r *run) moved(v verb.Verb, i int, from, to image.Image, err error) error {
	s := r.m.Step(i)
	if isAccount(r.plan.Changes[i].Addr) {
		r.Names.Forget()
	}
	after := to
	if s.Verb != step.Exec {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), settleTime)
		defer cancel() // also record the result of an interrupted operation
		if now, oerr := v.Observe(ctx, r.env, s); oerr == nil {
			after = now
		}
	}
	if s.Verb == step.Exec && err == nil && r.output != nil && !r.m.Back {
		after = image.Image{Exec: &image.Exec{Known: true, Done: true, Output: r.output}}
	}
	from = r.madeHome(r.before(i, from), after, s)
	r.fx[i].from, r.fx[i].to = from, after
	if serr := r.settleMachine(); serr != nil {
		return cutShort(errors.Join(err, serr))
	}
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(from), To: known(after)}
	if err != nil {
		r.fx[i].changed = (!from.Same(after) || r.brought(from)) && !neverStarted(err)
		return r.fail(i, StepFailed, err)
	}
	r.changed(i)
	return r.log(append([]journal.Record{rec}, r.settled(i)...)...)
}

// neverStarted reports whether a command failed before it could have any effect.
func neverStarted(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrUnsupported)
}

func isAccount(a addr.Addr) bool {
	return a.Kind() == addr.KindUser || a.Kind() == addr.KindGroup || a.Kind() == addr.KindPkg || a.Kind() == addr.KindExec
}

// transaction runs consecutive package steps in one apt transaction.
func (r *run) transaction(indexes []int) error {
	var moves []*verb.GroupMove
	var todo []int
	var g verb.Group
	for _, i := range indexes {
		s := r.m.Step(i)
		v, _ := verbs.For(s.Verb)
		group, ok := v.(verb.Group)
		if !ok {
			return r.fail(i, StepFailed, fmt.Errorf("cannot run %q in a transaction", s))
		}
		g = group
		r.start(i)
		from, to, err := r.images(v, i)
		if err != nil {
			return r.fail(i, StepFailed, err)
		}
		if from.Same(to) && !(r.fx[i].found.Known() && r.remains(from, to)) {
			if err := r.unchanged(i); err != nil {
				return err
			}
			continue
		}
		todo = append(todo, i)
		moves = append(moves, &verb.GroupMove{Step: s, From: r.keepDeb(from, to, s), To: to, Hold: r.plan.Changes[i].OwnsHold()})
	}
	if len(todo) == 0 {
		return nil
	}
	return r.runTransaction(g, todo, moves)
}

// keepDeb stores the .deb of a version that is about to be removed or replaced.
func (r *run) keepDeb(from, to image.Image, s step.Step) image.Image {
	if from.Package == nil || from.Package.Version == "" || from.Package.Version == to.Package.Version {
		return from
	}
	p, err := r.Host.Packages()
	if err != nil {
		return from
	}
	one := *from.Package
	_, one.Kept, err = p.Keep(r.ctx, s.Args[0], one.Version)
	if err != nil || !one.Kept {
		r.note(fmt.Sprintf("the .deb of %s %s is not available, so a rollback may not be able to restore this version", s.Args[0], one.Version))
	}
	return image.Image{Package: &one}
}

func (r *run) runTransaction(g verb.Group, todo []int, moves []*verb.GroupMove) error {
	err := r.configurePackages()
	if err == nil && !r.curesAny(todo, moves) {
		err = r.repairPackages()
	}
	if err != nil {
		return r.fail(todo[0], StepFailed, err)
	}
	r.foresee(moves)
	for k, i := range todo {
		moves[k].From = foreseen(moves[k].From, r.fx[i].found)
	}
	recs := make([]journal.Record, len(todo))
	for k, i := range todo {
		recs[k] = r.intent(i, moves[k].From, moves[k].To)
	}
	if err := r.log(recs...); err != nil {
		return err
	}
	err = r.moveAll(g, moves)
	if one := moves[0].From.Package; one != nil && len(moves[0].Also) > 0 {
		with := *one
		if with.Also = moves[0].Also; err != nil {
			with.Also = earlier(one.Also, moves[0].Also) // an interrupted attempt may have installed some of these
		}
		moves[0].From = image.Image{Package: &with}
	}
	return r.transacted(todo, moves, err)
}

// transacted records the result of each package. If the transaction failed, packages in sync still
// count as done. The packages that apt and dpkg name are the failure; other packages failed only if
// they were changed.
func (r *run) transacted(todo []int, moves []*verb.GroupMove, err error) error {
	var bad []int
	for k, i := range todo {
		v, _ := verbs.For(moves[k].Step.Verb)
		if err != nil && !r.reached(v, moves[k]) {
			bad = append(bad, k)
			continue
		}
		if merr := r.moved(v, i, moves[k].From, moves[k].To, nil); merr != nil {
			return merr
		}
	}
	if err == nil {
		return nil
	}
	r.broke = true
	if len(bad) == 0 { // so the error applies to the transaction itself
		bad = []int{0}
		err = fmt.Errorf("all packages are in sync, but their transaction failed: %w", err)
	}
	blamed := blamedFirst(bad, moves, err)
	with := fmt.Errorf("the transaction failed at %s", nameAll(bad[:max(blamed, 1)], moves))
	if blamed == 0 {
		err = oneOf(bad, moves, err)
		with = fmt.Errorf("the transaction of %s failed", nameAll(bad, moves))
	}
	err = r.withAudit(err)
	for n, k := range bad {
		v, _ := verbs.For(moves[k].Step.Verb)
		if n > 0 && n >= blamed {
			if now, oerr := v.Observe(r.ctx, r.env, moves[k].Step); oerr == nil && now.Same(moves[k].From) && !r.brought(moves[k].From) {
				continue // not started
			}
			err = with
		}
		if merr := r.moved(v, todo[k], moves[k].From, moves[k].To, err); !errors.Is(merr, errStopped) {
			return merr
		}
	}
	return errStopped
}

// reloadFor makes systemd read changed unit files before a step that uses units.
func (r *run) reloadFor(s step.Step) {
	if r.reload && (s.Verb == step.Unit || s.Verb == step.Act) {
		r.daemonReload()
	}
}

func (r *run) daemonReload() {
	r.reload = false
	units, err := r.Host.Units()
	if err != nil {
		return // no service manager is running
	}
	if err := units.Reload(r.ctx); err != nil {
		r.note("systemd could not read the changed unit files: " + err.Error())
	}
}

// madeHome records in the before-image of a new account that its home directory was created with it,
// so that the undo removes both.
func (r *run) madeHome(from, after image.Image, s step.Step) image.Image {
	if from.User == nil || from.User.Present || after.User == nil || !after.User.Present || s.Get("create_home") != "true" || r.homeWas {
		return from
	}
	u := *from.User
	u.HomeMade = true
	return image.Image{User: &u}
}

// homeWith removes a home directory together with its account, or restores it with the account. It
// returns the before-image, which contains the whole directory.
func (r *run) homeWith(i int, from, to image.Image) (image.Image, error) {
	r.homeWas = false
	if from.User == nil || to.User == nil || from.User.Present == to.User.Present {
		return from, nil
	}
	if to.User.Present {
		_, err := r.Host.Lstat(to.User.Home)
		r.homeWas = err == nil
		if r.homeWas || to.User.HomeDir == nil || r.m.Back {
			return from, nil
		}
		err = r.moveHome(i, to.User.Home, capture.Taken{File: image.File{Type: image.Absent}}, *to.User.HomeDir)
		return from, err
	}
	home := from.User.Home
	if !to.User.HomeMade || path.Clean(home) == "/" {
		return from, nil
	}
	taken, err := capture.TakeTree(r.Host, r.Store, home)
	if err != nil {
		return from, fmt.Errorf("cannot save the home directory: %w", err)
	}
	u := *from.User
	if taken.Type != image.Directory {
		for _, pm := range r.fx[i].moves { // an interrupted attempt removed it
			u.HomeDir = &pm.from
		}
		return image.Image{User: &u}, nil
	}
	u.HomeDir = &taken.File
	return image.Image{User: &u}, r.moveHome(i, home, taken, image.File{Type: image.Absent})
}

func (r *run) moveHome(i int, home string, from capture.Taken, to image.File) error {
	b := &move.Batch{Moves: []*move.Move{{Change: i, Path: home, From: from, To: to, Temp: move.TempFor(home, r.header.Run, i, r.m.Back)}}}
	if _, err := r.commit(b, r.m.Back); err != nil {
		return fmt.Errorf("cannot move the home directory: %w", err)
	}
	return nil
}
