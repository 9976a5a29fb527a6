package powercut

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// phase is one command of a recording: what was before and after it, and where
// in the log it began and had reported its end.
type phase struct {
	name       string
	begin, end int64
	old, new   tree
	// over tells that no command runs: there is nothing but the state after.
	over bool
}

// recording is a log of a disk with what the machine on it went through.
type recording struct {
	name   string
	fs     filesystem
	start  *os.File // the disk when the log begins
	ops    []Op
	ends   []int64
	phases []phase
	origin tree
}

// settings of a recording.
type settings struct {
	fs     filesystem
	bin    string
	env    []string
	policy string // undo or finish
}

// record runs a whole life on a disk: two versions, back to the first, and
// back to the origin.
func record(t testing.TB, s settings) *recording {
	t.Helper()
	l := newLogged(t, s.fs, nil)
	m := machine{bin: s.bin, dir: filepath.Join(l.dir, "m"), env: s.env}
	m.origin(t)
	must(t, syncfs(l.dir))
	r := &recording{name: s.policy, fs: s.fs, start: l.content(t)}
	from, err := l.disk.Logged()
	must(t, err)
	r.origin, err = readTree(m.root())
	must(t, err)
	v1, v2 := lists(t, t.TempDir())
	now, was := from, r.origin
	for _, c := range []struct {
		name string
		args []string
	}{
		{"apply", []string{"steps", "apply", v1, "--yes", "--on-crash", s.policy}},
		{"update", []string{"steps", "apply", v2, "--yes", "--on-crash", s.policy}},
		{"rollback", []string{"rollback", "--yes", "--on-crash", s.policy}},
		{"origin", []string{"rollback", "origin", "--yes", "--on-crash", s.policy}},
	} {
		if code, out := m.run(t.Context(), c.args...); code != exitDone {
			t.Fatalf("%s ended with %d:\n%s", c.name, code, out)
		}
		p := phase{name: c.name, begin: now, old: was}
		p.end, err = l.disk.Logged()
		must(t, err)
		p.new, err = readTree(m.root())
		must(t, err)
		now, was = p.end, p.new
		r.phases = append(r.phases, p)
	}
	if diff := was.differences(r.origin); diff != nil {
		t.Fatalf("the way there and back does not end at the origin: %q", diff)
	}
	return r.take(t, l, from, now, was)
}

// take ends a recording: what comes when all is over belongs to it too.
func (r *recording) take(t testing.TB, l *logged, from, now int64, last tree) *recording {
	t.Helper()
	l.unmount(t)
	end, err := l.disk.Logged()
	must(t, err)
	r.phases = append(r.phases, phase{name: "after", begin: now, end: end, old: last, new: last, over: true})
	ops, ends, err := l.disk.Log()
	must(t, err)
	for i, e := range ends {
		if e > from {
			r.ops, r.ends = append(r.ops, ops[i]), append(r.ends, e)
		}
	}
	t.Cleanup(func() { r.start.Close() })
	return r
}

// recordRecovery records what recovery does after a cut in another recording.
func recordRecovery(t testing.TB, s settings, of *recording, p point) *recording {
	t.Helper()
	m, err := NewImage(of.fs.size, of.start, of.ops)
	must(t, err)
	start, err := m.Cut(p.at, p.keep, p.seed)
	must(t, err)
	work, err := m.Cut(p.at, p.keep, p.seed)
	must(t, err)
	l := newLogged(t, s.fs, work)
	r := &recording{name: "recovery", fs: s.fs, start: start, origin: of.origin}
	on := machine{bin: s.bin, dir: filepath.Join(l.dir, "m"), env: s.env}
	if code, out := on.run(t.Context(), "recover"); code != exitDone {
		t.Fatalf("recover after %v ended with %d:\n%s", p, code, out)
	}
	ph := phase{name: "recovery", old: of.phases[p.phase].old, new: of.phases[p.phase].new}
	ph.end, err = l.disk.Logged()
	must(t, err)
	r.phases = []phase{ph}
	last, err := readTree(on.root())
	must(t, err)
	return r.take(t, l, 0, ph.end, last)
}

func syncfs(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
