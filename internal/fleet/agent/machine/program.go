package machine

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// settleAfter is how long a program that was chosen before has run well without a hub.
const settleAfter = 10 * time.Minute

// Program says which program this is.
type Program struct {
	// Arch is the machine's, as Go calls it; "": this program cannot be replaced.
	Arch string
	// Digest is that of a program which a hub chose, "" for the package's.
	Digest string
	// Trial says that this one goes unless it reaches a hub.
	Trial bool
	// Failed is one that did not do; Why says what was wrong.
	Failed fleet.Program
	// FailedDigest names its file, "" for none.
	FailedDigest string
	Why          string
}

// Newer is an assignment that this program cannot read, since a newer one made it: nothing
// of it counts but the program that it asks for, nil for none.
type Newer struct {
	Why     string
	Program *fleet.Program
}

// Prepared ends a Prepare. Never says that there is no use in trying again; Same that this
// is the program already.
type Prepared struct {
	Digest, Version string
	Error           string
	Never, Same     bool
}

// Prepare gets a program, and has it tried when this one leaves.
type Prepare struct{ Program fleet.Program }

// Settle writes down that this program does well.
type Settle struct{}

// Leave ends this process, for another program to take its place.
type Leave struct{}

func (Newer) event()    {}
func (Prepared) event() {}
func (Prepare) action() {}
func (Settle) action()  {}
func (Leave) action()   {}

// replacing is what there is to know of the program of this process.
type replacing struct {
	asked     *fleet.Program // by an assignment that cannot be read
	preparing bool
	settled   bool
	leaving   bool
	left      bool
}

// wantedProgram is the file that this machine is to run, "" for the one that it runs.
func (m *Machine) wantedProgram() (p fleet.Program, digest string) {
	want := m.replacing.asked
	if want == nil && m.Accepted != nil {
		want = m.Accepted.Program
	}
	if want == nil || m.cfg.Program.Arch == "" {
		return p, ""
	}
	return *want, want.Files[m.cfg.Program.Arch].Digest
}

// program begins to become another program.
func (m *Machine) program() {
	r := &m.replacing
	if !r.settled && !m.cfg.Program.Trial && m.isDue(settleTimer) {
		m.doesWell()
	}
	p, digest := m.wantedProgram()
	if p.Version != "" && digest == "" {
		m.refuse(fmt.Sprintf("the program %s has no file for this machine, which is %s", p.Version, m.cfg.Program.Arch))
	}
	if m.mayPrepare(digest) && m.isDue(programTimer) {
		r.preparing = true
		m.do(Prepare{p})
	}
}

func (m *Machine) mayPrepare(digest string) bool {
	r := m.replacing
	return m.up && digest != "" && digest != m.cfg.Program.Digest && digest != m.BadProgram &&
		!m.cfg.Program.Trial && !r.preparing && !r.leaving && m.frozen() == ""
}

func (m *Machine) prepared(e Prepared) {
	r := &m.replacing
	r.preparing = false
	switch _, digest := m.wantedProgram(); {
	case e.Same:
		m.cfg.Program.Digest = e.Digest
	case e.Digest != digest: // another one is wanted by now
	case e.Error == "":
		m.failures[programTimer], r.leaving = 0, true
	case e.Never:
		m.noProgram(e.Digest, e.Version, e.Error)
	default:
		m.again(programTimer, firstFetch, longest)
	}
}

// noProgram tells of a program that does not do, and keeps from trying it again.
func (m *Machine) noProgram(digest, version, why string) {
	m.BadProgram, m.changed = digest, true
	m.report(fleet.Event{Kind: fleet.Upgraded, Error: "not to " + version + ", it stays " + m.cfg.Version + ": " + why})
}

// beginProgram tells what became of the last attempt.
func (m *Machine) beginProgram() {
	c := m.cfg.Program
	m.due[settleTimer], m.due[programTimer] = m.now.Mono+settleAfter, m.now.Mono
	if c.FailedDigest != "" && m.BadProgram != c.FailedDigest {
		m.noProgram(c.FailedDigest, c.Failed.Version, c.Why)
	}
}

// doesWell writes down, once in a process, that its program does well. One that was on
// trial leaves, so that it is begun as the others are.
func (m *Machine) doesWell() {
	if m.replacing.settled || m.cfg.Program.Arch == "" {
		return
	}
	m.replacing.settled = true
	m.do(Settle{})
	if m.cfg.Program.Trial {
		m.report(fleet.Event{Kind: fleet.Upgraded, Text: "to " + m.cfg.Version})
		m.replacing.leaving = true
	}
}

// leave ends the process between two runs; leaving tells that no run begins any more.
func (m *Machine) leave() (leaving bool) {
	r := &m.replacing
	if r.leaving && m.running == nil && m.acting == nil && !r.left {
		r.left = true
		m.do(Leave{})
	}
	return r.leaving
}
