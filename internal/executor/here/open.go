package here

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	enginelocal "fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/fact"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/window"
)

// Open opens the engine of a machine, from its root and its state directory. It creates a
// missing state directory; if m is read-only, it uses one in memory instead. program
// identifies the build of this binary: caches of a different build are not used. The
// returned function releases the resources.
func Open(m Machine, program string) (executor.Executor, func() error, error) {
	h, err := Root(m.Root)
	if err != nil {
		return nil, nil, err
	}
	state, closeState, err := State(m)
	if err != nil {
		_ = h.Close()
		return nil, nil, err
	}
	x, err := enginelocal.New(h, state, enginelocal.Options{Guard: guard(h, m), Program: program,
		Identities: m.Identities, Locks: LocksOf(m), Net: probe.Net{Hubs: HubsOf(m)}})
	if err != nil {
		return nil, nil, errors.Join(err, closeState(), h.Close())
	}
	return x, func() error { return errors.Join(closeState(), h.Close()) }, nil
}

// Root opens a machine by its root. The caller closes it.
func Root(root string) (*local.Host, error) {
	h, err := local.Open(root, local.Options{Unsynced: unsyncedMachine, Count: counted()})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot open the root %q: there is no such directory. Create it first: mkdir -p %s/srv — or omit --root to manage this host", root, root)
	}
	return h, err
}

// State opens the state directory of a machine, and makes it if it is not only looked at.
// The function closes it.
func State(m Machine) (host.FS, func() error, error) {
	if m.ReadOnly {
		return mem.New(mem.Options{}), func() error { return nil }, nil
	}
	if err := makeState(m.State); err != nil {
		return nil, nil, fmt.Errorf("cannot create the state directory: %w", err)
	}
	st, err := local.Open(m.State, local.Options{Unsynced: unsyncedState, Count: counted()})
	if err != nil {
		return nil, nil, err
	}
	return st, st.Close, nil
}

// makeState creates the state directory, accessible to its owner only. Missing parent
// directories, as in the root of a new image, are accessible to all users.
func makeState(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return tighten(dir) // an existing directory: avoid system calls that the kernel could refuse
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return tighten(dir)
}

// tighten removes the permissions of group and others from an existing state directory.
// It changes no other directory.
func tighten(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "format")); err == nil || len(entries) == 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Beside opens the existing state directory, for files that are stored next to the
// journal. The returned function closes it.
func Beside(m Machine) (host.FS, func() error, error) {
	st, err := local.Open(m.State, local.Options{Count: counted()})
	if err != nil {
		return nil, nil, err
	}
	return st, st.Close, nil
}

// Zone returns the time zone of a machine for windows, or "" if it is unknown.
func Zone(m Machine) string {
	h, err := Root(m.Root)
	if err != nil {
		return ""
	}
	defer h.Close()
	name, err := fact.Zone(h)
	if err != nil {
		return ""
	}
	if _, err := window.Zone(name); err != nil {
		return ""
	}
	return name
}

// Place returns the place of a machine among machines that contain others. ok is false if it is unknown, and for an
// image.
func Place(m Machine) (p fact.Place, ok bool) {
	h, err := Root(m.Root)
	if err != nil {
		return p, false
	}
	defer h.Close()
	p, ok, err = fact.PlaceOf(h)
	return p, ok && err == nil
}

// Facts observes every fact of a machine.
func Facts(ctx context.Context, m Machine) (map[string]cty.Value, error) {
	h, err := Root(m.Root)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return fact.Gather(ctx, h, nil)
}
