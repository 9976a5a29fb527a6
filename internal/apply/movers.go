package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// move runs one change that is not a path: it records the intent, acts, and records the result.
func (r *forward) move(i int) error {
	s := r.machine.Step(i)
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
		from = image.Of(&image.Exec{Known: true})
	}
	if from.Same(to) {
		return r.unchanged(i)
	}
	r.output = nil
	if from, err = r.homes.homeWith(i, from, to); err != nil {
		if cut(err) {
			return err
		}
		return r.fail(i, StepFailed, err)
	}
	from = r.homes.madeHome(from, to, s)
	if err := r.log(r.intent(i, from, to)); err != nil {
		return err
	}
	err = v.(verb.Mover).Move(r.ctx, r.env, s, from, to)
	if err != nil && accounts(s.Verb) {
		err = r.onceMore(v.(verb.Mover), i, from, to, err)
	}
	return r.moved(v, i, from, to, err)
}

// onceMore repeats a failed change of an account, because it may have changed only some of the account
// files. If the second attempt also fails, it undoes the change as far as possible.
func (r *forward) onceMore(mv verb.Mover, i int, from, to image.Image, failed error) error {
	ctx := context.WithoutCancel(r.ctx)
	if mv.Move(ctx, r.env, r.machine.Step(i), from, to) == nil {
		return nil
	}
	if err := mv.Move(ctx, r.env, r.machine.Step(i), to, from); err != nil {
		r.note(fmt.Sprintf("%s is partly changed: %v", r.plan.Changes[i].Addr, err))
	}
	for _, pm := range r.effects[i].moves {
		if err := r.homes.home(i, pm); err != nil {
			r.note(fmt.Sprintf("cannot restore %s: %v", pm.path, err))
		}
	}
	r.effects[i].moves = nil
	return failed
}

// moved captures the result of an operation and records it.
func (r *forward) moved(v verb.Verb, i int, from, to image.Image, err error) error {
	s := r.machine.Step(i)
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
	if s.Verb == step.Exec && err == nil && r.output != nil && !r.machine.Back {
		after = image.Of(&image.Exec{Known: true, Done: true, Output: r.output})
	}
	from = r.homes.madeHome(r.before(i, from), after, s)
	r.effects[i].from, r.effects[i].to = from, after
	if serr := r.settleMachine(); serr != nil {
		return cutShort(errors.Join(err, serr))
	}
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(from),
		To: known(after)}
	if err != nil {
		r.effects[i].changed = (!from.Same(after) || r.packages.brought(from)) && !neverStarted(err)
		return r.fail(i, StepFailed, err)
	}
	r.changed(i)
	return r.log(append([]journal.Record{rec}, r.actions.notify(i)...)...)
}

// neverStarted reports whether a command failed before it could have any effect.
func neverStarted(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrUnsupported)
}
