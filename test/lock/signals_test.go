package lock

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/test/campaign"
)

func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
}

// TestSignalWhileACommandRuns: the first signal ends the command with all that
// it started, and the run at a clean place.
func TestSignalWhileACommandRuns(t *testing.T) {
	for _, ph := range phases() {
		for name, s := range signals() {
			if ph.name != "exec" && name != "INT" && os.Getenv("FETTLE_LONG") == "" {
				continue
			}
			t.Run(ph.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := onThisMachine(t, ph)
				p := m.inThePhase(ph)
				p.signal(s)
				if code := p.end(); code != failed {
					t.Errorf("it ended with %d (%v), want %d", code, p.ProcessState, failed)
				}
				m.says(p.out.String(), "stopping cleanly; once more ends it at once", "interrupted")
				m.nothingHangs("after a signal")
				m.settled()
			})
		}
	}
}

// TestSecondSignal ends fettle at once. What it leaves is ended by recovery,
// before anything is undone.
func TestSecondSignal(t *testing.T) {
	ph := phases()[0]
	m := onThisMachine(t, ph)
	p := m.inThePhase(ph)
	p.signal(syscall.SIGSTOP) // so that the first signal cannot end it before the second comes
	p.signal(syscall.SIGINT)
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	m.await("its end", p.over)
	if s := p.endedBy(); s != syscall.SIGINT && s != syscall.SIGTERM && p.ProcessState.ExitCode() != failed {
		t.Errorf("it ended as %v", p.ProcessState)
	}
	m.fettle(success, "recover")
	m.nothingHangs("after recovery")
	m.settled()
}

// TestKilledWhileACommandRuns stands for the kernel that ran out of memory: the
// process dies, its tree lives on. Recovery ends the tree first, so that what is
// undone stays so. Guards are asked before a run begins and change nothing:
// of them only the program itself is known to die.
func TestKilledWhileACommandRuns(t *testing.T) {
	for _, ph := range phases() {
		for _, policy := range []string{"undo", "finish"} {
			if policy == "finish" && ph.name != "exec" && ph.name != "action" && os.Getenv("FETTLE_LONG") == "" {
				continue
			}
			t.Run(ph.name+"/"+policy, func(t *testing.T) {
				t.Parallel()
				m := onThisMachine(t, ph)
				p := m.inThePhase(ph)
				p.signal(syscall.SIGKILL)
				m.await("its end", p.over)
				if ph.name == "guard" {
					m.settled()
					return
				}
				m.put("tree.sh", "exit 0\n") // else recovery would go into the same command again
				q := m.begin(nil, "recover", "--on-crash", policy)
				if code := q.end(); code != success && policy == "undo" && ph.name != "irreversible" {
					t.Errorf("recovery ended with %d:\n%s", code, q.out.String())
				}
				m.nothingHangs("after recovery")
				m.settled()
			})
		}
	}
}

// TestSignalAmongFiles stops a run before its operations in turn, sends a
// signal and lets it go on: each file is old or new, the run has ended, and can
// be finished or undone.
func TestSignalAmongFiles(t *testing.T) {
	w := newMachine(t)
	list := ""
	for _, c := range "abcdefgh" {
		w.put("root/srv/"+string(c), "old\n")
		list += "COPY new /srv/" + string(c) + "\nCOPY new /srv/in-" + string(c) + "\n"
	}
	w.put("new", "new\n")
	w.put("many.steps", list+"EDIT /etc/hosts line=new create=true\n")
	before := w.fingerprint(t, "root")
	stride := 14
	if os.Getenv("FETTLE_LONG") != "" {
		stride = 1
	}
	points, hit, lost := 0, 0, 0
	for n := 1; ; n += stride {
		m := w.copy(t)
		p := m.begin(stopAt(n), "steps", "apply", "--yes", "--on-failure", []string{"stop", "undo"}[n/stride%2],
			m.path("many.steps"))
		if !p.stopped() {
			break
		}
		p.signal([]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[n%3])
		p.signal(syscall.SIGCONT)
		code, out := p.end(), p.out.String()
		points++
		if code != success {
			hit++
		}
		if !t.Run("", func(t *testing.T) { m.cleanly(t, n, code, out, before) }) {
			lost++
		}
	}
	if hit == 0 || points < 10 {
		t.Errorf("of %d signals %d came in time", points, hit)
	}
	campaign.Record(t, campaign.Campaign{Name: "Signals", Variant: "among files", Points: points, Hit: hit, Lost: lost,
		Detail: "SIGINT, SIGTERM or SIGHUP before each operation of a run; it ends with 0, 1 or 6, leaves nothing to recover, and can be finished or undone"})
}

func (m *machine) cleanly(t *testing.T, n, code int, out string, before map[string]string) {
	m.t = t
	now := m.fingerprint(t, "root")
	switch code {
	case success, failed:
	case rolledBack:
		if d := differs(before, now); len(d) > 0 {
			t.Errorf("operation %d: it says that it was undone:\n%s", n, strings.Join(d, "\n"))
		}
	default:
		t.Errorf("operation %d: it ended with %d:\n%s", n, code, out)
	}
	if code != success {
		m.says(out, "stopping cleanly", "interrupted")
	}
	for p := range now {
		if strings.HasPrefix(p[strings.LastIndex(p, "/")+1:], ".fettle") {
			t.Errorf("operation %d: a temporary is left: %s", n, p)
		}
	}
	if m.status().Unfinished != 0 {
		t.Errorf("operation %d: the run has not ended:\n%s", n, out)
	}
	m.fettle(success, "steps", "apply", "--yes", m.path("many.steps"))
	m.fettle(success, "drift")
	m.fettle(success, "rollback", "--yes", "origin")
	after := m.fingerprint(t, "root")
	if d := differs(before, after); len(d) > 0 {
		t.Errorf("operation %d: not as it was at first:\n%s", n, strings.Join(d, "\n"))
	}
}
