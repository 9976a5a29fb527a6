// Package local is the executor for the machine, or a root directory on it, that the
// process can access directly. Every other executor uses this one on the target.
//
//	x, err := local.New(h, stateFS, local.Options{})
//	p, err := x.Plan(ctx, request)
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/sealed"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/names"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/statcache"
	"fettle.dev/fettle/internal/verb/check"
)

// Options has what tests exchange; the zero value is right for real use.
type Options struct {
	Now func() time.Time
	Net check.Prober
	// Guard starts a process that calls Recover at or after the deadline, even if this
	// process dies. It runs before anything changes. If Guard is nil, no run can be
	// armed.
	Guard func(ctx context.Context, deadline time.Time) error
	// Ballast is the room kept for taking a run back, in bytes; 0 is
	// journal.DefaultBallast, negative is none.
	Ballast int64
	// Program identifies this build of the binary. Cached observations are valid for the
	// same build only. "" disables the cache.
	Program string
	// Identities returns the private keys that decrypt sealed content. It is called on
	// first use; nil decrypts nothing.
	Identities func() (vault.Identities, error)
}

// Executor implements executor.Executor. It is used by one goroutine at a time.
type Executor struct {
	host    *sealed.Host
	keys    *keyring
	store   *journal.Store
	names   *names.Names
	net     check.Prober
	now     func() time.Time
	watch   func(ctx context.Context, deadline time.Time) error
	cache   *statcache.Cache // nil until its first use
	loading sync.Once
	program string // Options.Program
	last    looked
}

var _ executor.Executor = (*Executor)(nil)

// New opens the state directory, making it when it is missing.
func New(h host.Host, state host.FS, o Options) (*Executor, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Net == nil {
		o.Net = probe.Net{}
	}
	if o.Ballast == 0 {
		o.Ballast = journal.DefaultBallast
	}
	store, err := journal.OpenWith(state, journal.Options{Ballast: o.Ballast})
	if err != nil {
		return nil, fmt.Errorf("cannot open the state directory: %w", err)
	}
	keys := newKeyring(store, o.Identities)
	veiled := sealed.Wrap(h, keys)
	return &Executor{host: veiled, keys: keys, store: store, names: names.New(h), net: o.Net, now: o.Now, watch: o.Guard, program: o.Program}, nil
}

func (x *Executor) digests() *statcache.Cache {
	x.loading.Do(func() { x.cache = statcache.Load(x.store.FS(), x.now) })
	return x.cache
}

// lazily is the stat cache, read on first use.
type lazily struct{ x *Executor }

// Digest implements capture.Digests.
func (l lazily) Digest(path string, st host.Stat) (string, bool) {
	return l.x.digests().Digest(path, st)
}

// Remember implements capture.Digests.
func (l lazily) Remember(path string, st host.Stat, digest string) {
	l.x.digests().Remember(path, st, digest)
}

// lock takes the one lock. The error says who holds it.
func (x *Executor) lock(o executor.Options) (io.Closer, error) {
	holder := fmt.Sprintf("%s (process %d) by %s since %s", orElse(o.Command, "fettle"), os.Getpid(), orElse(o.User, "somebody"), x.now().Format(time.RFC3339))
	l, err := x.store.Lock(holder)
	var locked *host.LockedError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("%w: %s; wait until it ends, then try again", executor.ErrLocked, locked.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take the lock: %w", err)
	}
	return l, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// runner makes what runs a plan.
func (x *Executor) runner(o executor.Options, show func(executor.Event)) *apply.Runner {
	if show == nil {
		show = func(executor.Event) {}
	}
	return &apply.Runner{Host: x.host, Store: x.store, Net: x.net, Digests: lazily{x}, Names: x.names,
		Show: show, Now: x.now, Armed: o.ConfirmWithin, OnCheckFailure: o.OnCheckFailure, OnCrash: o.OnCrash, Sections: o.Sections, Mask: x.keys.mask}
}

// header begins the record of a run.
func (x *Executor) header(p *plan.Plan, o executor.Options) (journal.Header, error) {
	n, err := x.store.NextRun()
	if err != nil {
		return journal.Header{}, fmt.Errorf("cannot number the run: %w", err)
	}
	return journal.Header{Format: 1, Run: n, Operation: p.Operation, Base: p.Base, To: p.To, Revision: p.Revision,
		OnFailure: orElse(o.OnFailure, apply.Stop), OnCrash: orElse(o.OnCrash, apply.Undo),
		User: o.User, From: o.From, Command: o.Command, Version: o.Version, PID: os.Getpid(), BootID: x.host.BootID(), Continues: o.Continues, Partial: p.More()}, nil
}

// report converts a result to the report for users, and its outcome to an error that ui
// turns into an exit code.
func report(res apply.Result, began, ended time.Time, err error) (*executor.Report, error) {
	rep := &executor.Report{Run: res.Run, Outcome: res.Outcome, Changed: res.Changed, Failed: res.Failed, Rescued: res.Rescued, Checks: res.Checks,
		Notes: res.Notes, Remaining: res.Remaining, Stays: res.Stays, Duration: ended.Sub(began)}
	for _, p := range res.State.Pending {
		rep.Pending = append(rep.Pending, p.Addr)
	}
	if err != nil {
		return rep, err
	}
	switch res.Outcome {
	case journal.Failed:
		if rep.InPart() {
			return rep, fmt.Errorf("run %d is only partly done, without the states that depend on the failure: %s", res.Run, why(res.Failed))
		}
		return rep, fmt.Errorf("run %d failed: %s", res.Run, why(res.Failed))
	case journal.CheckFailed:
		return rep, fmt.Errorf("run %d: %w: %s", res.Run, executor.ErrCheckFailed, why(res.Failed))
	case journal.RolledBack:
		return rep, fmt.Errorf("run %d was %w: %s", res.Run, executor.ErrRolledBack, why(res.Failed))
	case journal.Interrupted:
		return rep, fmt.Errorf("run %d was interrupted: %w", res.Run, context.Canceled)
	}
	return rep, nil
}

func why(f *apply.Failure) string {
	switch {
	case f == nil:
		return "it was interrupted"
	case f.Addr == "":
		return f.Error
	}
	return fmt.Sprintf("%s: %s", f.Addr, f.Error)
}
