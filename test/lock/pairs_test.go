package lock

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/test/campaign"
)

// entry is one way in that changes a machine, its history or its settings, or
// recovers it.
type entry struct {
	name string
	args []string
	on   string // the machine on which it has something to do
	does string // the text of whoever holds the lock for it
}

// entries are all ways in. A command that takes the lock and is not here fails
// TestEveryCommandIsKnown.
func entries() []entry {
	return []entry{
		{"apply", []string{"apply", "--replace-applied-state", "--yes"}, "settled", "apply"},
		{"saved", []string{"apply", "--yes", "PLAN"}, "settled", "apply"},
		{"steps", []string{"steps", "apply", "--replace-applied-state", "--yes", "LIST"}, "settled", "steps apply"},
		{"armed", []string{"steps", "apply", "--replace-applied-state", "--yes", "--confirm-within", "1h", "LIST"},
			"settled", "steps apply"},
		{"rollback", []string{"rollback", "--yes"}, "settled", "rollback"},
		{"recover", []string{"recover"}, "crashed", "recover"},
		{"settles", []string{"steps", "apply", "--replace-applied-state", "--yes", "LIST"}, "crashed", "steps apply"},
		{"reverts", []string{"recover"}, "late", "recover"},
		{"timer", []string{"watch-confirmation", "--from", "1"}, "late", "watch-confirmation"},
		{"confirm", []string{"confirm"}, "armed", "confirm"},
		{"freeze", []string{"freeze", "--reason", "why"}, "settled", "freeze"},
		{"unfreeze", []string{"unfreeze"}, "frozen", "unfreeze"},
		{"gc", []string{"gc", "--yes", "--keep-runs", "1", "--keep-within", "0s"}, "settled", "gc"},
	}
}

// lookers only look, and are never kept from it.
func lookers() [][]string {
	return [][]string{
		{"status"}, {"log"}, {"show"}, {"drift"}, {"explain", "/srv/a"}, {"compile"}, {"validate"}, {"version"},
		{"support-bundle", "-o", "BUNDLE"},
		{"steps", "diff", "LIST", "LIST"},
	}
}

const repository = `target "host" {}
file "/srv/a" { content = "repository" }
file "/srv/repo" { content = "repository" }
`

// place fills in the files of a machine.
func (m *machine) place(args []string) []string {
	r := strings.NewReplacer("LIST", m.path("next.steps"), "PLAN", m.path("saved.plan"), "BUNDLE",
		m.path("bundle"+strconv.Itoa(os.Getpid())))
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = r.Replace(a)
	}
	return out
}

// worlds are the machines that entries work on, by name.
func worlds(t *testing.T) map[string]*machine {
	t.Helper()
	m := newMachine(t)
	m.put("repo/fettle.hcl", repository)
	m.put("next.steps", "COPY next /srv/a\nMKDIR /srv/next mode=0750\nCOPY next /srv/next/in\n")
	m.put("next", "next\n")
	for _, name := range []string{"one", "two", "three"} {
		m.put(name, name+"\n")
		m.put(name+".steps", "COPY "+name+" /srv/a\nCOPY "+name+" /srv/"+name+"\n")
		m.fettle(success, "steps", "apply", "--yes", m.path(name+".steps"))
	}
	m.fettle(changes, "plan", "--replace-applied-state", "-o", m.path("saved.plan"))
	w := map[string]*machine{"settled": m}
	w["frozen"] = m.copy(t)
	w["frozen"].fettle(success, "freeze", "--reason", "because")
	w["crashed"] = m.copy(t)
	w["crashed"].crash()
	w["armed"] = m.copy(t)
	if !w["armed"].arm("1h") {
		t.Fatal("the run does not wait for its confirmation")
	}
	if err := os.Remove(w["armed"].path("saved.plan")); err != nil {
		t.Fatal(err)
	}
	w["armed"].fettle(changes, "plan", "--replace-applied-state", "-o", w["armed"].path("saved.plan"))
	for _, within := range []string{"1s", "5s", "30s"} { // on a busy machine the watcher comes first
		if w["late"] = m.copy(t); w["late"].arm(within) {
			break
		}
	}
	w["late"].await("the deadline", func() bool { return w["late"].status().Armed.Deadline < time.Now().UnixNano() })
	return w
}

// crash kills a run in the middle.
func (m *machine) crash() {
	m.t.Helper()
	for n := 25; ; n++ {
		p := m.begin(killAt(n), m.place([]string{"steps", "apply", "--replace-applied-state", "--yes", "LIST"})...)
		if p.end(); p.endedBy() != syscall.SIGKILL {
			m.t.Fatalf("no kill was in the middle of the run:\n%s", p.out.String())
		}
		if m.status().Unfinished > 0 {
			return
		}
	}
}

// arm leaves a run that waits for its confirmation, and nobody who watches it;
// false when the watcher has taken it back already.
func (m *machine) arm(within string) bool {
	m.t.Helper()
	m.fettle(success, m.place([]string{"steps", "apply", "--yes", "--confirm-within", within, "LIST"})...)
	m.unwatch()
	return m.status().Armed != nil
}

// unwatch ends the watcher in the background.
func (m *machine) unwatch() {
	for _, pid := range alive(m.path("state")) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// status is what fettle status says.
type status struct {
	Run        int    `json:"run"`
	Unfinished int    `json:"unfinished"`
	Locked     string `json:"locked"`
	Armed      *struct {
		Deadline int64 `json:"deadline"`
	} `json:"armed"`
	Frozen *struct{} `json:"frozen"`
}

func (m *machine) status() (st status) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(m.fettle(success, "status", "--json")), &st); err != nil {
		m.t.Fatal(err)
	}
	return st
}

// TestOneLock holds each way in up while it has the lock. Every other one is
// refused, is told who holds the lock, and changes nothing; whoever only looks
// is let in. Then the first goes on and ends as if nothing had been.
func TestOneLock(t *testing.T) {
	w := worlds(t)
	points, lost := 0, 0
	for _, first := range entries() {
		t.Run(first.name, func(t *testing.T) {
			m := w[first.on].copy(t)
			defer m.unwatch()
			m.t = t
			p := m.heldUp(first)
			was := m.fingerprint(t, "root", "state")
			for _, second := range entries() {
				points++
				m.refused(t, p, first, second)
			}
			for _, args := range lookers() {
				q := m.begin(nil, m.place(args)...)
				under := args[0] == "drift" && m.status().Unfinished > 0
				if code := q.end(); code != success && code != changes && !(under && code == locked) {
					t.Errorf("fettle %s beside %s: exit code %d\n%s", args[0], first.name, code, q.out.String())
				}
			}
			if d := differs(was, m.fingerprint(t, "root", "state")); len(d) > 0 {
				lost++
				t.Errorf("whoever was refused has changed something:\n%s", strings.Join(d, "\n"))
			}
			p.signal(syscall.SIGCONT)
			if code := p.end(); code != success {
				t.Errorf("it ended with %d:\n%s", code, p.out.String())
			}
			m.whole(t)
		})
	}
	campaign.Record(t, campaign.Campaign{Name: "Two at once", Variant: "one is stopped while it has the lock",
		Points: points, Hit: points, Lost: lost,
		Detail: "every pair of commands that change or recover a host; the second is refused, names the first, changes nothing"})
}

// heldUp starts a way in and gives it stopped at the first operation for which
// it has the lock.
func (m *machine) heldUp(first entry) *process {
	m.t.Helper()
	for n := 1; ; n++ {
		p := m.begin(stopAt(n), m.place(first.args)...)
		if !p.stopped() {
			m.t.Fatalf("it was over before it could be held up:\n%s", p.out.String())
		}
		if m.status().Locked != "" {
			return p
		}
		_ = p.Process.Kill() // it was only writing what makes the next time faster
		<-p.done
	}
}

// refused starts the second beside the first. The watcher is the one that waits.
func (m *machine) refused(t *testing.T, p *process, first, second entry) {
	t.Helper()
	q := m.begin(nil, m.place(second.args)...)
	defer func() { _ = q.Process.Kill(); <-q.done }()
	if second.name == "timer" {
		m.unmoved(t, q, first)
		return
	}
	code, out := q.end(), q.out.String()
	if code == failed && first.on == "frozen" && strings.Contains(out, "frozen") {
		return // it did not come as far as the lock
	}
	for _, want := range []string{"locked", "fettle " + first.does, "process " + strconv.Itoa(p.Process.Pid), " since "} {
		if !strings.Contains(out, want) {
			t.Errorf("%s beside %s does not say %q:\n%s", second.name, first.name, want, out)
		}
	}
	if code != locked {
		t.Errorf("%s beside %s: exit code %d, want %d\n%s", second.name, first.name, code, locked, out)
	}
}

// unmoved demands that the watcher does nothing now: where a run is late it
// waits for the lock, elsewhere it has nothing to do.
func (m *machine) unmoved(t *testing.T, q *process, first entry) {
	t.Helper()
	if st := m.status(); st.Armed == nil || st.Armed.Deadline > time.Now().UnixNano() {
		if st.Armed == nil && q.end() != success {
			t.Errorf("the watcher of nothing beside %s: %s", first.name, q.out.String())
		}
		return
	}
	if q.over() {
		t.Errorf("the watcher gave up beside %s: %s", first.name, q.out.String())
	}
}

// whole demands a machine on which everything has ended and nothing is torn. On
// a frozen one a crashed run waits to be settled, which is allowed there.
func (m *machine) whole(t *testing.T) {
	t.Helper()
	m.t = t
	st := m.status()
	if st.Locked != "" || st.Unfinished != 0 && st.Frozen == nil {
		t.Errorf("not settled: %+v", st)
	}
	m.fettle(success, "recover")
	m.says(m.fettle(success, "recover"), "Nothing to recover")
	m.fettle(success, "unfreeze")
	m.fettle(success, "drift")
}
