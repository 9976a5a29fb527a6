// Package mem is a host in memory: files, accounts, packages, units and programs that a test sets
// up, and simulated power cuts.
//
//	h := mem.New(mem.Options{})
//	h.Repository().Publish(mem.Release{Name: "nginx", Version: "1.22"})
//	… use h as a host.Host …
//	after := h.Crash(rand.New(rand.NewPCG(1, 2))) // what was not synced is diced
//
// The file system follows the rules of Linux, including errnos, for a caller that is root.
package mem

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/accountfile"
)

// Runner plays a program. It may use h, whose operations it makes are not
// counted.
type Runner func(ctx context.Context, h *Host, c host.Command) (host.CommandResult, error)

// Host is a host in memory. It is safe for concurrent use.
type Host struct {
	*FS
	opts     Options
	boot     int
	accounts *accountfile.DB
	mu       *sync.Mutex // of the accounts
	packages *Packages
	units    *Units
	locks    *locks
}

var (
	_ host.Host   = (*Host)(nil)
	_ host.Locker = (*Host)(nil)
)

// New makes a host with an empty file system, no package and no unit.
func New(opts Options) *Host {
	return assemble(NewFS(opts), opts, 1, newPackages(), newUnits())
}

func assemble(f *FS, opts Options, boot int, p *Packages, u *Units) *Host {
	h := &Host{FS: f, opts: opts, boot: boot, mu: &sync.Mutex{}, packages: p, units: u,
		locks: &locks{held: map[string]string{}}}
	h.accounts = accountfile.NewPlain(f, h.lockAccounts)
	p.fs, p.op = f.Counted(nil), f.op
	u.fs, u.op = f.Counted(nil), f.op
	return h
}

// Crash returns the host after a power cut and a boot: CrashClone of the files, the same packages
// and units, and only enabled units run. The clone counts like the original. The original is not
// changed.
func (h *Host) Crash(rng *rand.Rand) *Host {
	f := h.CrashClone(rng).Counted(h.opts.Count)
	return assemble(f, h.opts, h.boot+1, h.packages.clone(), h.units.rebooted())
}

// Root implements host.Host.
func (h *Host) Root() string { return "/" }

// BootID implements host.Host.
func (h *Host) BootID() string { return "boot-" + strconv.Itoa(h.boot) }

// Accounts implements host.Host.
func (h *Host) Accounts() host.Accounts { return h.accounts }

// Packages implements host.Host.
func (h *Host) Packages() (host.Packages, error) { return h.packages, nil }

// Units implements host.Host.
func (h *Host) Units() (host.Units, error) { return h.units, nil }

// Repository returns the packages with the setup methods for tests.
func (h *Host) Repository() *Packages { return h.packages }

// Services returns the units with the setup methods for tests.
func (h *Host) Services() *Units { return h.units }

// Run implements host.Host by Options.Run.
func (h *Host) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	if len(c.Argv) == 0 {
		return host.CommandResult{}, fmt.Errorf("cannot run a command without a program: argv is empty")
	}
	if h.opts.Run == nil {
		return host.CommandResult{}, fmt.Errorf("cannot run %q: this host has no programs: %w", c.Argv[0],
			host.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return host.CommandResult{}, fmt.Errorf("cannot run %q: %w", c.Argv[0], err)
	}
	if c.Mutates {
		if err := h.op(host.OpRun, c.Argv[0]); err != nil {
			return host.CommandResult{}, err
		}
	}
	quiet := *h
	quiet.FS = h.Counted(nil)
	return h.opts.Run(ctx, &quiet, c)
}

type unlock func()

func (u unlock) Close() error {
	u()
	return nil
}

func (h *Host) lockAccounts() (io.Closer, error) {
	h.mu.Lock()
	return unlock(h.mu.Unlock), nil
}

// locks are the files that Lock holds.
type locks struct {
	mu   sync.Mutex
	held map[string]string
}

// Holder implements host.Locker.
func (h *Host) Holder(path string) (string, error) {
	if err := host.CheckPath(path); err != nil {
		return "", err
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return h.locks.held[path], nil
}

// Lock implements host.Locker. A crash frees every lock.
func (h *Host) Lock(path, holder string) (io.Closer, error) {
	if err := host.CheckPath(path); err != nil {
		return nil, err
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	if by, held := h.locks.held[path]; held {
		return nil, &host.LockedError{Holder: by}
	}
	f, err := h.Counted(nil).OpenAppend(path)
	if err != nil {
		return nil, err
	}
	h.locks.held[path] = holder
	return unlock(func() {
		h.locks.mu.Lock()
		defer h.locks.mu.Unlock()
		delete(h.locks.held, path)
	}), f.Close()
}
