package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// first is applied before the run that is killed; second is that run.
const first = `MKDIR /srv/www mode=0750
COPY a1 /srv/www/a mode=0640
COPY b1 /srv/www/b
LINK a /srv/www/l
COPY f /srv/f2d
LINK a /srv/l2f
MKDIR /srv/d2f
COPY same /srv/meta mode=0600
EDIT /etc/hosts block=web content="10.0.0.1 web\n"
RM /srv/old-file
COPY gone /srv/gone
MKDIR /srv/goes
COPY f /srv/goes/in
`

const second = `MKDIR /srv/www mode=0700
COPY a2 /srv/www/a mode=0640
LINK b /srv/www/l
COPY c2 /srv/www/c
MKDIR /srv/www/new
COPY f /srv/www/new/in mode=0600
MKDIR /srv/f2d
COPY f /srv/f2d/in
COPY f /srv/l2f
COPY f /srv/d2f
COPY same /srv/meta mode=0644
META /srv/theirs mode=0600
EDIT /etc/hosts block=web content="10.0.0.2 web\n"
EDIT /etc/new line=one create=true
RM /srv/old-file
RM /srv/tree
MKDIR /srv/purged purge=true
COPY u /srv/foreign mode=0755
`

// machine is a throwaway root with its state beside it.
type machine struct{ bin, dir, lists string }

func (m machine) root() string { return filepath.Join(m.dir, "root") }

// run starts the program; killAt 0 lets it live, count "" counts nothing.
func (m machine) run(killAt int, count string, args ...string) (string, error) {
	return m.under(nil, killAt, count, args...)
}

func (m machine) under(tracer []string, killAt int, count string, args ...string) (string, error) {
	argv := append(append([]string{}, tracer...), m.bin)
	argv = append(append(argv, args...), "--root", m.root(), "--state", filepath.Join(m.dir, "state"))
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "FETTLE_KILL="+strconv.Itoa(killAt), "FETTLE_COUNT="+count, "GOMAXPROCS=1")
	out, err := c.CombinedOutput()
	return string(out), err
}

func (m machine) must(t testing.TB, args ...string) {
	t.Helper()
	if out, err := m.run(0, "", args...); err != nil {
		t.Fatalf("fettle %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (m machine) tree(t testing.TB) map[string]leaf {
	t.Helper()
	f, err := fingerprint(m.root())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// copy is the same machine in another folder.
func (m machine) copy(t testing.TB, dir string) machine {
	t.Helper()
	copyTree(t, m.dir, dir)
	return machine{m.bin, dir, m.lists}
}

func (m machine) apply() []string {
	return []string{"steps", "apply", "--yes", filepath.Join(m.lists, "second")}
}

// site is a machine ready to be killed, and its trees.
type site struct {
	machine
	origin, before, after map[string]leaf
	ops                   int
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := scratch(t)
	s := &site{machine: machine{filepath.Join(dir, "fettle"), filepath.Join(dir, "m"), filepath.Join(dir, "lists")}}
	build := exec.Command("go", "build", "-tags", "fettlefault", "-o", s.bin, "fettle.dev/fettle/cmd/fettle")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	s.lay(t)
	s.origin = s.tree(t)
	s.must(t, "steps", "apply", "--yes", filepath.Join(s.lists, "first"))
	s.slim(t)
	s.before = s.tree(t)
	m := s.copy(t, filepath.Join(dir, "whole"))
	count := filepath.Join(dir, "count")
	if out, err := m.run(0, count, m.apply()...); err != nil {
		t.Fatalf("the run by itself: %v\n%s", err, out)
	}
	s.after = m.tree(t)
	b, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	s.ops = strings.Count(string(b), "\n")
	return s
}

// scratch is a folder in memory where there is one: thousands of syncs cost
// nothing there, and a kill loses nothing anywhere.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fettle-crash-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *site) lay(t *testing.T) {
	t.Helper()
	then := time.Unix(1_600_000_000, 123_456_789)
	write := func(p, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, then, then); err != nil {
			t.Fatal(err)
		}
	}
	for p, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/hosts": "127.0.0.1 localhost\n",
		"srv/www/b": "theirs", "srv/old-file": "old", "srv/theirs": "theirs", "srv/foreign": "foreign",
		"srv/tree/a": "a", "srv/tree/sub/b": "b", "srv/tree/sub/deep/c": "c", "srv/purged/x": "x", "srv/purged/y/z": "z",
	} {
		write(filepath.Join(s.root(), p), text, 0o640)
	}
	for _, name := range []string{"a1", "b1", "a2", "c2", "f", "same", "u", "gone"} {
		write(filepath.Join(s.lists, name), "content of "+name, 0o644)
	}
	write(filepath.Join(s.lists, "first"), first, 0o644)
	write(filepath.Join(s.lists, "second"), second, 0o644)
}

// slim takes the ballast away, which would only make copying slow.
func (s *site) slim(t *testing.T) {
	t.Helper()
	p := filepath.Join(s.dir, "state", "ballast")
	if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// tally is what a campaign tried.
type tally struct{ points, second, undone, done, bad atomic.Int64 }

// slack is by how many operations two runs may differ: the digest of the plan
// varies with the times of files, and so does which object folders are new.
const slack = 32

// TestKill kills at every operation; half of the points are finished, half
// undone, and most recoveries are killed as well.
func TestKill(t *testing.T) {
	s := newSite(t)
	var n tally
	var wg sync.WaitGroup
	todo := make(chan int)
	for range 4 {
		wg.Go(func() {
			for at := range todo {
				for _, policy := range []string{"undo", "finish"} {
					s.kill(t, at, policy, &n)
				}
			}
		})
	}
	for at := 1; at <= s.ops+slack; at++ {
		todo <- at
	}
	close(todo)
	wg.Wait()
	if out, err := s.copy(t, filepath.Join(filepath.Dir(s.dir), "over")).run(s.ops+slack+1, "", s.apply()...); killed(err) {
		t.Errorf("the run has more operations than were counted:\n%s", out)
	}
	t.Logf("%d operations, %d points, %d second kills, %d as before, %d as after, %d torn or lost",
		s.ops, n.points.Load(), n.second.Load(), n.undone.Load(), n.done.Load(), n.bad.Load())
	if n.second.Load()*2 < n.points.Load() {
		t.Errorf("only %d of %d recoveries were killed", n.second.Load(), n.points.Load())
	}
}

// kill tries one point.
func (s *site) kill(t *testing.T, at int, policy string, n *tally) {
	m := s.copy(t, filepath.Join(filepath.Dir(s.dir), fmt.Sprintf("%s-%d", policy, at)))
	defer os.RemoveAll(m.dir)
	bad := func(what string, args ...any) {
		if n.bad.Add(1) <= 5 {
			t.Errorf("killed before operation %d, then %s: %s", at, policy, fmt.Sprintf(what, args...))
		}
	}
	out, err := m.run(at, "", m.apply()...)
	if err == nil && at > s.ops-slack {
		return
	}
	n.points.Add(1)
	if !killed(err) {
		bad("it was not killed: %v\n%s", err, out)
		return
	}
	dice := rand.New(rand.NewPCG(uint64(at), uint64(len(policy))))
	recovery := []string{"recover", "--on-crash", policy}
	if _, err := m.run(1+dice.IntN(20), "", recovery...); killed(err) {
		n.second.Add(1)
	}
	if out, err := m.run(0, "", recovery...); err != nil {
		bad("recovery: %v\n%s", err, out)
		return
	}
	s.settled(t, m, n, bad)
}

// settled looks at a recovered machine and takes it back to its origin.
func (s *site) settled(t *testing.T, m machine, n *tally, bad func(string, ...any)) {
	now := m.tree(t)
	old, new := differs(now, s.before, s.before), differs(now, s.after, s.before)
	switch {
	case len(old) == 0:
		n.undone.Add(1)
	case len(new) == 0:
		n.done.Add(1)
	default:
		bad("neither as before:\n\t%s\nnor as after:\n\t%s", strings.Join(old, "\n\t"), strings.Join(new, "\n\t"))
		return
	}
	if out, err := m.run(0, "", "rollback", "--yes", "0"); err != nil {
		bad("rollback: %v\n%s", err, out)
		return
	}
	if diff := differs(m.tree(t), s.origin, withoutTimes(s.origin, "/etc/hosts")); len(diff) > 0 {
		bad("not as at the origin:\n\t%s", strings.Join(diff, "\n\t"))
	}
}

// withoutTimes leaves out files of which only a region is ours: their time is
// that of the last change.
func withoutTimes(tree map[string]leaf, paths ...string) map[string]leaf {
	out := map[string]leaf{}
	for k, v := range tree {
		out[k] = v
	}
	for _, p := range paths {
		delete(out, p)
	}
	return out
}
