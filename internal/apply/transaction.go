package apply

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// transaction runs consecutive package steps in one apt transaction.
func (r *forward) transaction(indexes []int) error {
	var moves []*verb.GroupMove
	var todo []int
	var g verb.Group
	for _, i := range indexes {
		s := r.machine.Step(i)
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
		if from.Same(to) && !(r.effects[i].found.Known() && r.packages.remains(from, to)) {
			if err := r.unchanged(i); err != nil {
				return err
			}
			continue
		}
		todo = append(todo, i)
		moves = append(moves, &verb.GroupMove{Step: s, From: r.packages.keepDeb(from, to, s), To: to,
			Hold: r.plan.Changes[i].OwnsHold()})
	}
	if len(todo) == 0 {
		return nil
	}
	return r.runTransaction(g, todo, moves)
}

// keepDeb stores the .deb of a version that is about to be removed or replaced.
func (r *packages) keepDeb(from, to image.Image, s step.Step) image.Image {
	if from.Package() == nil || from.Package().Version == "" || from.Package().Version == to.Package().Version {
		return from
	}
	p, err := r.Host.Packages()
	if err != nil {
		return from
	}
	one := *from.Package()
	_, one.DebStored, err = p.Keep(r.ctx, s.Args[0], one.Version)
	if err != nil || !one.DebStored {
		r.note(fmt.Sprintf("the .deb of %s %s is not available, so a rollback may not be able to restore this version",
			s.Args[0], one.Version))
	}
	return image.Of(&one)
}

func (r *forward) runTransaction(g verb.Group, todo []int, moves []*verb.GroupMove) error {
	err := r.packages.configurePackages()
	if err == nil && !r.packages.curesAny(todo, moves) {
		err = r.packages.repairPackages()
	}
	if err != nil {
		return r.fail(todo[0], StepFailed, err)
	}
	r.packages.foresee(moves)
	for k, i := range todo {
		moves[k].From = foreseen(moves[k].From, r.effects[i].found)
	}
	recs := make([]journal.Record, len(todo))
	for k, i := range todo {
		recs[k] = r.intent(i, moves[k].From, moves[k].To)
	}
	if err := r.log(recs...); err != nil {
		return err
	}
	err = r.packages.moveAll(g, moves)
	if one := moves[0].From.Package(); one != nil && len(moves[0].AlsoChanged) > 0 {
		with := *one
		if with.AlsoChanged = moves[0].AlsoChanged; err != nil {
			with.AlsoChanged = earlier(one.AlsoChanged,
				moves[0].AlsoChanged) // an interrupted attempt may have installed some of these
		}
		moves[0].From = image.Of(&with)
	}
	return r.transacted(todo, moves, err)
}

// transacted records the result of each package. If the transaction failed, packages in sync still
// count as done. The packages that apt and dpkg name are the failure; other packages failed only if
// they were changed.
func (r *forward) transacted(todo []int, moves []*verb.GroupMove, err error) error {
	var bad []int
	for k, i := range todo {
		v, _ := verbs.For(moves[k].Step.Verb)
		if err != nil && !r.packages.reached(v, moves[k]) {
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
	r.packages.transactionFailed = true
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
	err = r.packages.withAudit(err)
	for n, k := range bad {
		v, _ := verbs.For(moves[k].Step.Verb)
		if n > 0 && n >= blamed {
			if now, oerr := v.Observe(r.ctx, r.env, moves[k].Step); oerr == nil && now.Same(moves[k].From) &&
				!r.packages.brought(moves[k].From) {
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
