package lock

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/test/needs"
)

// tree starts processes in every way in which one can get out of sight: a
// child, one in a session of its own, one whose parents are gone, and one
// without its environment. All hold the streams open and ignore what asks them
// to end.
const tree = `cd "$1"
sh "$1/hang.sh" &
setsid sh "$1/hang.sh" &
(setsid sh -c 'sh "$0/hang.sh" & exit 0' "$1" &)
env -i /bin/sh "$1/hang.sh" &
sh "$1/hang.sh"
`

// processes is how many hang.
const processes = 5

const hang = `trap '' TERM INT HUP PIPE
while :; do sleep 0.1; done
`

// phase is a moment of a run in which a command of the repository runs.
type phase struct {
	name string
	list string   // DIR is the machine's directory, WORK the one that is managed
	args []string // what runs it; the list is applied as it is when empty
}

func phases() []phase {
	return []phase{
		{"exec", "COPY next WORK/a\nEXEC hold /bin/sh DIR/tree.sh DIR undo=/bin/true\nCOPY next WORK/b\n", nil},
		{"irreversible", "EXEC hold /bin/sh DIR/tree.sh DIR\n", nil},
		{"action", "COPY next WORK/a\nACT run hold /bin/sh DIR/tree.sh DIR on=file:WORK/a\n", nil},
		{"validation", "COPY next WORK/a validate=\"/bin/sh DIR/tree.sh DIR\"\n", nil},
		{"staged", "COPY next WORK/a validate=\"/bin/sh DIR/tree.sh DIR %s\"\n", nil},
		{"check", "COPY next WORK/a\nCHECK hold exec=\"/bin/sh DIR/tree.sh DIR\" within=60s\n", nil},
		{"guard", "EXEC hold /bin/true unless=\"/bin/sh DIR/tree.sh DIR\" undo=/bin/true\n", nil},
		{"undo", "COPY next WORK/a\nEXEC hold /bin/true undo=\"/bin/sh DIR/tree.sh DIR\"\n", []string{"rollback", "--yes"}},
	}
}

// onThisMachine is a machine whose root is that of this one: its commands run
// here. It needs root.
func onThisMachine(t testing.TB, ph phase) *machine {
	t.Helper()
	needs.Root(t)
	work, err := os.MkdirTemp("/tmp", "fettle-lock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	m := newMachine(t)
	m.root, m.work = "/", work
	directory := "MKDIR " + work + " mode=0700\n"
	m.put("tree.sh", tree)
	m.put("hang.sh", hang)
	m.put("next", "next\n")
	m.put("before.steps", directory+"COPY before "+work+"/a\n")
	m.put("before", "old\n")
	m.put("phase.steps", directory+strings.NewReplacer("DIR", m.dir, "WORK", work).Replace(ph.list))
	m.fettle(success, "steps", "apply", "--yes", m.path("before.steps"))
	if len(ph.args) > 0 {
		m.fettle(success, "steps", "apply", "--yes", m.path("phase.steps"))
	}
	t.Cleanup(func() {
		for _, pid := range m.hanging() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return m
}

// hanging are the processes of the tree that run.
func (m *machine) hanging() []int { return alive(m.path("hang.sh")) }

// inThePhase starts the run and waits until all of the tree is up.
func (m *machine) inThePhase(ph phase, more ...string) *process {
	m.t.Helper()
	args := ph.args
	if len(args) == 0 {
		args = []string{"steps", "apply", "--yes", m.path("phase.steps")}
	}
	p := m.begin(nil, append(args, more...)...)
	m.await("the command to run", func() bool {
		if p.over() {
			m.t.Fatalf("it was over before its command ran:\n%s", p.out.String())
		}
		return len(m.hanging()) >= processes
	})
	return p
}

// nothingHangs demands that the whole tree has gone.
func (m *machine) nothingHangs(when string) {
	m.t.Helper()
	// The kernel needs a moment to end a process that was killed.
	for end := time.Now().Add(10 * time.Second); len(m.hanging()) > 0 && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
	if left := m.hanging(); len(left) > 0 {
		m.t.Errorf("%s, %d of its processes still run: %v", when, len(left), left)
	}
}

// settled demands that nothing of the run is left open, and that the machine
// can be worked with: what it was before can be had again.
func (m *machine) settled() {
	m.t.Helper()
	if st := m.status(); st.Unfinished != 0 || st.Locked != "" {
		m.t.Errorf("it is not settled: %+v", st)
	}
	m.put("tree.sh", "exit 0\n") // what is undone may run it once more
	m.fettle(success, "rollback", "--yes", "--cross-irreversible", "1")
	got, _ := os.ReadFile(m.work + "/a")
	if _, err := os.Stat(m.work + "/b"); string(got) != "old\n" || err == nil {
		m.t.Errorf("after rollback a is %q, b is there: %v", got, err == nil)
	}
}
