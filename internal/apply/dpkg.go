package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/verb/pkg"
)

// waiter is an optional ability of packages: wait until no other process changes them.
type waiter interface {
	Wait(ctx context.Context, progress func(host.Progress)) error
}

// configurer is an optional ability of packages: only configure packages that are unpacked.
type configurer interface {
	Configure(ctx context.Context, progress func(host.Progress)) error
}

// configurePackages configures the packages that an interrupted dpkg left. It stores the unfinished
// rest in r.unfinished, and does not try these packages again. Packages that require each other at the
// same version cannot be configured while they have different versions. Only one transaction that
// completes or undoes the change finishes them.
func (r *packages) configurePackages() error {
	p, err := r.Host.Packages()
	if err != nil {
		return err
	}
	state, err := p.Audit(r.ctx)
	if err == nil && state != "" && state != r.unfinished {
		if state, err = r.configure(p, state); err == nil && state != "" {
			r.note("dpkg could not finish its configuration: " + state)
		}
	}
	r.unfinished = state
	return err
}

func (r *packages) configure(p host.Packages, state string) (left string, err error) {
	if w, ok := p.(waiter); ok { // another process may be changing packages
		if err := w.Wait(r.ctx, r.env.Progress); err != nil {
			return state, err
		}
		if state, err = p.Audit(r.ctx); err != nil || state == "" {
			return state, err
		}
	}
	r.foundUnfinished = true
	r.note("an earlier change of packages was interrupted and is finished first: " + state)
	c, ok := p.(configurer)
	if !ok {
		return state, nil
	}
	failed := c.Configure(r.ctx, r.env.Progress)
	r.notePackages(p)
	if r.ctx.Err() != nil {
		return state, failed
	}
	return p.Audit(r.ctx) // which reports the result
}

func (r *packages) notePackages(p host.Packages) {
	for _, text := range pkg.Notes(p) {
		r.note(text)
	}
}

// repairPackages makes the repairs that do not depend on the goal of the packages.
func (r *packages) repairPackages() error {
	if r.unfinished == "" {
		return nil
	}
	p, err := r.Host.Packages()
	if err != nil {
		return err
	}
	if state, err := p.Audit(r.ctx); err != nil || state == "" {
		r.unfinished = state
		return err
	}
	err = p.Repair(r.ctx, r.env.Progress)
	r.notePackages(p)
	if err != nil {
		return fmt.Errorf("cannot finish the interrupted change of packages; see dpkg --audit: %w", err)
	}
	r.unfinished = ""
	return nil
}

// sweeper is an optional ability of packages: remove the temporary files of an interrupted unpacking
// that are newer than a time, in ns since 1970.
type sweeper interface {
	Sweep(ctx context.Context, names []string, since int64) error
}

// sweepPackages removes temporary files that dpkg does not remove if an interrupted change is
// continued in another way.
func (r *packages) sweepPackages() {
	p, err := r.Host.Packages()
	s, ok := p.(sweeper)
	if err != nil || !ok || !r.foundUnfinished || r.unfinished != "" {
		return
	}
	if recs, err := r.Store.Read(r.base.Run); r.since == 0 && err == nil && len(recs) > 0 {
		r.since = recs[0].At // that run may have created them
	}
	if r.since == 0 {
		return
	}
	var names []string
	for i, c := range r.plan.Changes {
		if c.Addr.Kind() == addr.KindPkg {
			names = append(names, r.machine.Step(i).Args[0])
			if from := r.effects[i].from.Package(); from != nil {
				names = slices.AppendSeq(names, maps.Keys(from.AlsoChanged))
			}
		}
	}
	slices.Sort(names)
	if err := s.Sweep(r.ctx, slices.Compact(names), r.since); err != nil {
		r.note(err.Error())
	}
}

// leaveWhole repairs the unfinished state of dpkg that no change of the run has finished, such as
// dependencies and triggers of other packages.
func (r *packages) leaveWhole() {
	if r.transactionFailed && r.machine.Back {
		if err := r.configurePackages(); err != nil {
			r.note(err.Error())
		}
	}
	if err := r.repairPackages(); err != nil {
		r.note(err.Error())
	}
}
