package lock

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTimeoutEndsTheTree: a command that forks, changes its session, loses its
// parents, sheds its environment and ignores what asks it to end is gone after
// its time with all that it started, though streams were held open.
func TestTimeoutEndsTheTree(t *testing.T) {
	for name, list := range map[string]string{
		"exec":   "EXEC hold /bin/sh DIR/tree.sh DIR timeout=2s undo=/bin/true\n",
		"action": "COPY next WORK/a\nACT run hold /bin/sh DIR/tree.sh DIR on=file:WORK/a timeout=2s\n",
		"check":  "COPY next WORK/a\nCHECK hold exec=\"/bin/sh DIR/tree.sh DIR\" within=2s\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ph := phase{name: name, list: list}
			m := onThisMachine(t, ph)
			p := m.inThePhase(ph)
			if code := p.end(); code == success {
				t.Errorf("it ended with %d", code)
			}
			m.says(p.out.String(), "did not end ")
			m.nothingHangs("after the time-out")
			m.settled()
		})
	}
}

// TestDaemonStays: what a command leaves running when it ends well, such as a
// daemon, is meant to run. It neither holds the run up nor goes with recovery.
func TestDaemonStays(t *testing.T) {
	ph := phase{list: "EXEC daemon /bin/sh -c \"setsid sh DIR/hang.sh & exit 0\" undo=/bin/true\nEXEC hold /bin/sh DIR/wait.sh DIR undo=/bin/true\n"}
	m := onThisMachine(t, ph)
	m.put("wait.sh", "touch $1/up; while :; do sleep 0.1; done\n")
	p := m.begin(nil, "steps", "apply", "--yes", m.path("phase.steps"))
	m.await("the second command", func() bool { return m.has("up") || p.over() })
	p.signal(syscall.SIGKILL)
	m.await("its end", p.over)
	m.fettle(success, "recover")
	if len(m.hanging()) != 1 {
		t.Errorf("of the daemon %d processes run", len(m.hanging()))
	}
	if left := alive(m.path("wait.sh")); len(left) > 0 {
		t.Errorf("the command that was under way runs on: %v", left)
	}
	m.settled()
}

// TestReaderGoesAway: a pipe that is closed at the other end stops nothing. The
// run is done and says so by its exit code, with --json by that of an error.
func TestReaderGoesAway(t *testing.T) {
	for _, c := range []struct {
		more []string
		code int
	}{{nil, success}, {[]string{"--json"}, failed}} {
		ph := phase{list: "COPY next WORK/a\nEXEC hold /bin/sh DIR/wait.sh DIR undo=/bin/true\nCOPY next WORK/b\n"}
		m := onThisMachine(t, ph)
		m.put("wait.sh", "touch $1/up; while ! test -e $1/go; do sleep 0.05; done\n")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := m.prepare(append([]string{"steps", "apply", "--yes", m.path("phase.steps")}, c.more...)...)
		p.Stdout, p.Stderr = w, w
		p.launch()
		_ = w.Close()
		m.await("the middle", func() bool { return m.has("up") || p.over() })
		_ = r.Close()
		m.put("go", "")
		if code := p.end(); code != c.code {
			t.Errorf("it ended as %v, want %d", p.ProcessState, c.code)
		}
		if _, err := os.Stat(m.work + "/b"); err != nil {
			t.Errorf("it did not go on: %v", err)
		}
		m.settled()
	}
}

// TestTerminalGoes: with its terminal a run gets SIGHUP and stops cleanly, and
// what it still says to nobody does no harm.
func TestTerminalGoes(t *testing.T) {
	ph := phases()[0]
	m := onThisMachine(t, ph)
	master, name := terminal(t)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := m.prepare("steps", "apply", "--yes", m.path("phase.steps"))
	p.Stdin, p.Stdout, p.Stderr = slave, slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.launch()
	_ = slave.Close()
	m.await("the command to run", func() bool { return len(m.hanging()) >= processes || p.over() })
	_ = master.Close()
	if code := p.end(); code != failed {
		t.Errorf("it ended as %v", p.ProcessState)
	}
	m.nothingHangs("after the terminal went")
	m.says(m.fettle(success, "show", "2"), "interrupted", "terminal")
	m.settled()
}

// TestInterruptedQuestion: Ctrl-C at the question changes nothing.
func TestInterruptedQuestion(t *testing.T) {
	m := newMachine(t)
	m.put("next", "next\n")
	m.put("next.steps", "COPY next /srv/a\n")
	master, name := terminal(t)
	defer master.Close()
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := m.prepare("steps", "apply", m.path("next.steps"))
	p.Stdin, p.Stdout, p.Stderr = slave, slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.launch()
	_ = slave.Close()
	said := reads(master)
	m.await("the question", func() bool { return strings.Contains(said.String(), "[y/N]") || p.over() })
	if _, err := master.Write([]byte{3}); err != nil { // as the key does
		t.Fatal(err)
	}
	if code := p.end(); code != failed {
		t.Errorf("it ended as %v", p.ProcessState)
	}
	m.await("what it says", func() bool { return strings.Contains(said.String(), "nothing was changed") })
	if m.has("root/srv/a") || m.has("state") {
		t.Error("it left something behind")
	}
}

// terminal opens a new pseudo-terminal and gives the name of its other side.
func terminal(t *testing.T) (master *os.File, slave string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return master, "/dev/pts/" + strconv.Itoa(n)
}

// reads collects what a terminal shows.
func reads(master *os.File) *text {
	var x text
	go func() { // ends with the terminal
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			_, _ = x.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	return &x
}
