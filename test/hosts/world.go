package hosts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// World is a set of hosts on one bridge, which also has the test's own
// address, .254. Worlds of one test binary cannot reach each other.
type World struct {
	release Release
	base    base
	dir     string // the hosts' directories; dies with the test
	group   string // the cgroup of the hosts
	num     int    // names the bridge and the network 10.77.num.0/24

	mu    sync.Mutex
	hosts int // how many have been made
}

// maxWorlds is how many networks 10.77.0.0/16 has for worlds.
const maxWorlds = 255

// NewWorld returns an empty world that lives as long as t. Its hosts run the default
// release. It skips t where there can be no hosts; see the package comment.
func NewWorld(t testing.TB) *World {
	t.Helper()
	return NewWorldOf(t, DefaultRelease())
}

// NewWorldOf is NewWorld for a release.
func NewWorldOf(t testing.TB, r Release) *World {
	t.Helper()
	Require(t)
	base, err := ensureBase(r)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(base, os.Getenv(envWorld))
	if err != nil {
		t.Fatal(err)
	}
	w.release = r
	t.Cleanup(w.close)
	return w
}

// Release returns the Debian release that hosts of the world run at first.
func (w *World) Release() Release { return w.release }

// newWorld takes the first free number: creating a directory decides who has it.
func newWorld(b base, top string) (*World, error) {
	for num := range maxWorlds {
		name := strconv.Itoa(num)
		w := &World{base: b, dir: filepath.Join(top, name), num: num, group: filepath.Join(worldGroup(top), name)}
		err := os.Mkdir(w.dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot create a world: %w", err)
		}
		return w, w.addBridge()
	}
	return nil, fmt.Errorf("cannot create a world: all %d are in use", maxWorlds)
}

func (w *World) bridge() string { return fmt.Sprintf("br%d", w.num) }

func (w *World) addBridge() error {
	return runAll(
		[]string{"ip", "link", "add", w.bridge(), "type", "bridge"},
		[]string{"ip", "addr", "add", fmt.Sprintf("10.77.%d.254/24", w.num), "dev", w.bridge()},
		[]string{"ip", "link", "set", w.bridge(), "up"},
	)
}

// close removes the bridge. The directory stays to keep the number taken until
// the test binary ends: a late process of an old host must not meet a new one.
func (w *World) close() { runAll([]string{"ip", "link", "del", w.bridge()}) }

// Boot makes a host, boots it and waits until systemd says that it is running
// with no failed unit. The host lives as long as t. Names must differ within a
// world.
func (w *World) Boot(t testing.TB, name string, opts Options) *Host {
	t.Helper()
	return w.BootAll(t, opts, name)[0]
}

// BootAll boots several hosts with the same options at once and returns them
// in the order of their names.
func (w *World) BootAll(t testing.TB, opts Options, names ...string) []*Host {
	t.Helper()
	made := make([]*Host, len(names))
	for i, name := range names {
		h, err := w.newHost(name, opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.close(t) })
		made[i] = h
	}
	errs := make([]error, len(made))
	var wait sync.WaitGroup
	for i, h := range made {
		wait.Go(func() { errs[i] = h.start() })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return made
}

// runAll runs the commands in order and stops at the first that fails.
func runAll(commands ...[]string) error {
	for _, argv := range commands {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot %s: %w: %s", strings.Join(argv, " "), err, out)
		}
	}
	return nil
}
