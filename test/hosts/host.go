package hosts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options say how a host differs from the plain base image.
type Options struct {
	Binds   []Bind // directories and files of the machine that the host sees
	Repo    *Repo  // the host's only apt repository, at /srv/repo; none if nil
	NoCheck bool   // boot even if units fail
}

// Bind shows From, a path of the machine, as To in a host.
type Bind struct {
	From, To string
	Writable bool
}

// Host is one Debian host. Its methods are safe for concurrent use, except that methods with a test
// parameter must be called from the goroutine of the test.
type Host struct {
	// Name is the host's name, which is also its hostname.
	Name string
	// Addr is its IPv4 address. The test and the hosts of its world reach it.
	Addr string

	world *World
	opts  Options
	dir   string // upper, work, root and console.log
	num   int

	mu      sync.Mutex
	current *boot // the latest boot, nil before the first
	off     bool  // a host that has been switched off does not boot by itself
}

var nameSyntax = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`) })

// newHost makes a host's file tree and network, which outlive its boots.
func (w *World) newHost(name string, opts Options) (*Host, error) {
	if !nameSyntax().MatchString(name) {
		return nil, fmt.Errorf("cannot make host %q: a name is at most 31 of a-z, 0-9 and -", name)
	}
	w.mu.Lock()
	w.hosts++
	num := w.hosts
	w.mu.Unlock()
	if num > 253 {
		return nil, fmt.Errorf("cannot make host %q: the world is full", name)
	}
	h := &Host{
		Name: name, Addr: fmt.Sprintf("10.77.%d.%d", w.num, num),
		world: w, opts: opts, num: num, dir: filepath.Join(w.dir, name), off: true,
	}
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make host %q: %w", name, err)
	}
	if err := h.mount(); err != nil {
		return nil, err
	}
	if err := h.identify(); err != nil {
		return nil, err
	}
	return h, h.addLink()
}

func (h *Host) root() string    { return filepath.Join(h.dir, "root") }
func (h *Host) console() string { return filepath.Join(h.dir, "console.log") }
func (h *Host) group() string   { return filepath.Join(h.world.group, h.Name) }
func (h *Host) netns() string   { return fmt.Sprintf("w%d-%s", h.world.num, h.Name) }
func (h *Host) port() string    { return fmt.Sprintf("v%d-%d", h.world.num, h.num) }

// mount puts the host's own layer over the base. With redirect_dir a directory of
// the base can be renamed, as on any other file system.
func (h *Host) mount() error {
	for _, sub := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(h.dir, sub), 0o755); err != nil {
			return fmt.Errorf("cannot make host %q: %w", h.Name, err)
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=on", h.world.base.tree(), h.dir, h.dir)
	if err := syscall.Mount("overlay", h.root(), "overlay", 0, data); err != nil {
		return fmt.Errorf("cannot mount the tree of host %q: %w", h.Name, err)
	}
	return nil
}

// identify writes what makes this host this one. Two hosts with one name get
// the same identity, so that they can be compared.
func (h *Host) identify() error {
	id := sha256.Sum256([]byte(h.Name))
	files := map[string]string{
		"etc/hostname":   h.Name + "\n",
		"etc/machine-id": fmt.Sprintf("%x\n", id[:16]),
		"etc/hosts":      "127.0.0.1\tlocalhost\n127.0.1.1\t" + h.Name + "\n::1\tlocalhost ip6-localhost ip6-loopback\n",
	}
	if h.opts.Repo != nil {
		files["etc/apt/sources.list"] = "deb [trusted=yes] file:" + repoPath + " ./\n"
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(h.root(), path), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot make host %q: %w", h.Name, err)
		}
	}
	return nil
}

// Identity lists the paths that tell two plain hosts apart, for Compare.
func Identity() []string {
	return []string{"/etc/hostname", "/etc/hosts", "/etc/machine-id"}
}

// explain logs the end of the host's console and journal, also of a host that
// did not get all the way up.
func (h *Host) explain(t testing.TB) {
	if text, err := os.ReadFile(h.console()); err == nil && len(text) > 0 {
		t.Logf("console of %s:\n%s", h.Name, tail(text, 4000))
	}
	b, _ := h.latest()
	if b == nil || b.leader.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	journal := []string{"journalctl", "--no-pager", "--quiet", "--boot", "--lines=40"}
	got := capture(enter(ctx, int(b.leader.Load()), journal), nil)
	t.Logf("journal of %s:\n%s%s", h.Name, got.Stdout, got.Stderr)
}

// close switches the host off and removes all of it. If the test has failed, it
// explains what it can before that.
func (h *Host) close(t testing.TB) {
	if t.Failed() {
		h.explain(t)
	}
	if err := h.kill(); err != nil {
		t.Error(err)
	}
	err := errors.Join(h.removeLink(), syscall.Unmount(h.root(), syscall.MNT_DETACH))
	for _, root := range cgroupRoots() {
		removeCgroup(filepath.Join(root, h.group()))
	}
	if err := errors.Join(err, os.RemoveAll(h.dir)); err != nil {
		t.Errorf("cannot remove host %s: %v", h.Name, err)
	}
}

func (h *Host) addLink() error {
	return runAll(
		[]string{"ip", "netns", "add", h.netns()},
		[]string{"ip", "link", "add", h.port(), "type", "veth", "peer", "name", "host0", "netns", h.netns()},
		[]string{"ip", "link", "set", h.port(), "master", h.world.bridge(), "up"},
		[]string{"ip", "-n", h.netns(), "link", "set", "lo", "up"},
		[]string{"ip", "-n", h.netns(), "addr", "add", h.Addr + "/24", "dev", "host0"},
		[]string{"ip", "-n", h.netns(), "link", "set", "host0", "up"},
	)
}

// removeLink deletes the port first: a network namespace dies only some time
// after its name.
func (h *Host) removeLink() error {
	return runAll([]string{"ip", "link", "del", h.port()}, []string{"ip", "netns", "del", h.netns()})
}

// Unplug takes the host off the network until Plug. Both are idempotent.
func (h *Host) Unplug(t testing.TB) { h.setLink(t, "down") }

// Plug puts an unplugged host back on the network.
func (h *Host) Plug(t testing.TB) { h.setLink(t, "up") }

func (h *Host) setLink(t testing.TB, state string) {
	t.Helper()
	if err := runAll(strings.Fields("ip link set " + h.port() + " " + state)); err != nil {
		t.Fatal(err)
	}
}
