package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
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

func (m machine) tree(t testing.TB) tree {
	t.Helper()
	f, err := fingerprint(m.root())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// copy is the same machine in another directory.
func (m machine) copy(t testing.TB, dir string) machine {
	t.Helper()
	copyTree(t, m.dir, dir)
	return machine{m.bin, dir, m.lists}
}

func (m machine) apply() []string {
	return []string{"steps", "apply", "--yes", filepath.Join(m.lists, "second")}
}

// site is a machine with two lists, and its trees before and after each.
type site struct {
	machine
	origin tree
	free   []string // paths whose time, or whole, is not ours to give back
	phases []phase
}

// phase is one command to be killed, and what it leads from and to.
type phase struct {
	name     string
	from     machine
	args     []string
	old, new tree
	ops      int
}

// program builds a program of this module into the site's directory.
func program(t *testing.T, out, pkg string, tags ...string) string {
	t.Helper()
	if err := gobuild.Program(out, pkg, tags...); err != nil {
		t.Fatal(err)
	}
	return out
}

// newSite applies the first list of two, then the second one on a copy, and
// counts the operations of that and of the way back.
func newSite(t *testing.T, one, two string, prepare func(*site)) *site {
	t.Helper()
	dir := scratch(t)
	s := &site{machine: machine{filepath.Join(dir, "fettle"), filepath.Join(dir, "m"), filepath.Join(dir, "lists")}}
	program(t, s.bin, "fettle.dev/fettle/cmd/fettle", "-tags", "fettlefault")
	s.lay(t, one, two)
	if prepare != nil {
		prepare(s)
	}
	s.origin = s.tree(t)
	s.must(t, "steps", "apply", "--yes", filepath.Join(s.lists, "first"))
	s.slim(t)
	before := s.tree(t)
	m := s.copy(t, filepath.Join(dir, "whole"))
	ops := m.counted(t, m.apply()...)
	after := m.tree(t)
	s.phases = []phase{
		{"apply", s.machine, s.apply(), before, after, ops},
		{"rollback", m, []string{"rollback", "--yes", "1"}, after, before, 0},
	}
	back := m.copy(t, filepath.Join(dir, "back"))
	s.phases[1].ops = back.counted(t, s.phases[1].args...)
	if diff := differs(back.tree(t), before, s.without(before)); len(diff) > 0 {
		t.Fatalf("the rollback by itself leaves:\n\t%s", strings.Join(diff, "\n\t"))
	}
	return s
}

// counted runs a command to its end and counts its operations.
func (m machine) counted(t *testing.T, args ...string) int {
	t.Helper()
	count := m.dir + ".count"
	if out, err := m.run(0, count, args...); err != nil {
		t.Fatalf("fettle %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	b, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// scratch is a directory in memory where there is one: thousands of syncs cost
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

func (s *site) lay(t *testing.T, one, two string) {
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
	write(filepath.Join(s.lists, "first"), one, 0o644)
	write(filepath.Join(s.lists, "second"), two, 0o644)
}

// slim takes the ballast away, which would only make copying slow.
func (s *site) slim(t *testing.T) {
	t.Helper()
	p := filepath.Join(s.dir, "state", "ballast")
	if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}
