package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// hold is the slots that one apply or rollback holds. It is used by one goroutine.
type hold struct {
	locks   executor.Locks // nil: there is no agent
	without bool           // Options.WithoutLocks
	show    func(executor.Event)
	base    context.Context
	names   []string
	slots   executor.Slots // nil: none
	end     func()         // ends the context of the slots
}

// hold returns a hold without slots. The caller must call release.
func (x *runs) hold(ctx context.Context, o executor.Options, show func(executor.Event)) *hold {
	return &hold{locks: x.locks, without: o.WithoutLocks, show: show, base: ctx, end: func() {}}
}

// acquire ensures that the hold has these locks. Afterwards, the run uses the returned context. again means that slots
// were acquired: the host may have changed meanwhile, so the caller plans again.
func (h *hold) acquire(ctx context.Context, names []string) (under context.Context, again bool, err error) {
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(h.names, n) })
	if len(missing) == 0 || h.without {
		return ctx, false, nil
	}
	all := append(missing, h.names...)
	slices.Sort(all)
	if len(all) > step.MaxLocks {
		return ctx, false, fmt.Errorf("%w: cannot acquire %d locks for one run; the maximum is %d", executor.ErrNoSlot,
			len(all), step.MaxLocks)
	}
	if h.locks == nil {
		return ctx, false, hint.With(fmt.Errorf("%w: the run needs %s, and this host has no agent that could acquire it",
			executor.ErrNoSlot, lockNames(all)), "Enrol the host, or run without the locks: --without-locks")
	}
	h.release() // all or none, in the order of the names: otherwise two runs could wait for each other
	slots, err := h.locks.Acquire(h.base, all, func(text string) {
		if h.show != nil {
			h.show(executor.Event{Kind: "note", Text: text})
		}
	})
	if err != nil {
		return ctx, false, err
	}
	h.names, h.slots = all, slots
	return h.under(), true, nil
}

// under returns the context of a run with the slots. It ends when the leases are about to end.
func (h *hold) under() context.Context {
	var env []string
	for _, name := range h.names {
		env = append(env, fmt.Sprintf("%s=%d", executor.TokenVariable(name), h.slots.Tokens()[name]))
	}
	ctx, cancel := context.WithCancelCause(host.WithEnv(h.base, env))
	h.end = func() { cancel(nil) }
	lost := h.slots.Lost()
	go func() {
		select {
		case <-lost:
			cancel(apply.ErrRestore)
		case <-ctx.Done():
		}
	}()
	return ctx
}

// release releases the slots, last of all.
func (h *hold) release() {
	h.end()
	if h.slots != nil {
		h.slots.Release()
	}
	h.names, h.slots, h.end = nil, nil, func() {}
}

// explain adds the loss of the leases to the error of a run.
func (h *hold) explain(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), apply.ErrRestore) {
		return err
	}
	return fmt.Errorf("the run was stopped, because the leases of %s could not be renewed: %w", lockNames(h.names), err)
}

func lockNames(names []string) string {
	if len(names) == 1 {
		return "the lock " + names[0]
	}
	return "the locks " + strings.Join(names, ", ")
}

// noteLocks adds notes about the locks that a run of a plan needs, and whether their slots are free.
func (x *runs) noteLocks(ctx context.Context, p *plan.Plan, err error, list step.List) {
	if err != nil {
		return
	}
	names := executor.NeededLocks(p, list)
	if len(names) == 0 {
		return
	}
	p.Notes = append(slices.Clip(p.Notes), "the run needs a slot of "+lockNames(names))
	if o, ok := x.locks.(executor.LockObserver); ok {
		p.Notes = append(p.Notes, o.Describe(ctx, names)...)
	}
}
