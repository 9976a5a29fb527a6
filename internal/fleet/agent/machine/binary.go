package machine

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// settleAfter is how long a program that was chosen before has run well without a hub.
const settleAfter = 10 * time.Minute

// Binary says which program this is.
type Binary struct {
	// Arch is the machine's, as Go calls it; "": this program cannot be replaced.
	Arch string
	// Digest is that of a program which a hub chose, "" for the package's.
	Digest string
	// Trial says that this one goes unless it reaches a hub.
	Trial bool
	// Failed is one that did not do; Why says what was wrong.
	Failed fleet.Binary
	// FailedDigest names its file, "" for none.
	FailedDigest string
	Why          string
}

// Newer is an assignment that this program cannot read, since a newer one made it: nothing
// of it counts but the program that it asks for, nil for none.
type Newer struct {
	Why    string
	Binary *fleet.Binary
}

// Prepared ends a Prepare. Never says that there is no use in trying again; Same that this
// is the program already.
type Prepared struct {
	Digest, Version string
	Error           string
	Never, Same     bool
}

// Prepare gets a program, and has it tried when this one leaves.
type Prepare struct{ Binary fleet.Binary }

// ConfirmBinary writes down that this program does well.
type ConfirmBinary struct{}

// Leave ends this process, for another program to take its place.
type Leave struct{}

func (Newer) event()          {}
func (Prepared) event()       {}
func (Prepare) action()       {}
func (ConfirmBinary) action() {}
func (Leave) action()         {}

// replacing is what there is to know of the program of this process.
type replacing struct {
	asked     *fleet.Binary // by an assignment that cannot be read
	preparing bool
	settled   bool
	leaving   bool
	left      bool
}

// wantedBinary is the file that this machine is to run, "" for the one that it runs.
func (m *Machine) wantedBinary() (p fleet.Binary, digest string) {
	want := m.replacing.asked
	if want == nil && m.Accepted != nil {
		want = m.Accepted.Binary
	}
	if want == nil || m.cfg.Binary.Arch == "" {
		return p, ""
	}
	return *want, want.Files[m.cfg.Binary.Arch].Digest
}

// binary begins to become another program.
func (m *Machine) binary() {
	r := &m.replacing
	if !r.settled && !m.cfg.Binary.Trial && m.isDue(settleTimer) {
		m.doesWell()
	}
	p, digest := m.wantedBinary()
	if p.Version != "" && digest == "" {
		m.refuse(fmt.Sprintf("the program %s has no file for this machine, which is %s", p.Version, m.cfg.Binary.Arch))
	}
	if m.mayPrepare(digest) && m.isDue(binaryTimer) {
		r.preparing = true
		m.do(Prepare{p})
	}
}

func (m *Machine) mayPrepare(digest string) bool {
	r := m.replacing
	return m.up && digest != "" && digest != m.cfg.Binary.Digest && digest != m.BadBinary &&
		!m.cfg.Binary.Trial && !r.preparing && !r.leaving && m.frozen() == ""
}

func (m *Machine) prepared(e Prepared) {
	r := &m.replacing
	r.preparing = false
	switch _, digest := m.wantedBinary(); {
	case e.Same:
		m.cfg.Binary.Digest = e.Digest
	case e.Digest != digest: // another one is wanted by now
	case e.Error == "":
		m.failures[binaryTimer], r.leaving = 0, true
	case e.Never:
		m.noBinary(e.Digest, e.Version, e.Error)
	default:
		m.again(binaryTimer, firstFetch, longest)
	}
}

// noBinary tells of a program that does not do, and keeps from trying it again.
func (m *Machine) noBinary(digest, version, why string) {
	m.BadBinary, m.changed = digest, true
	m.report(fleet.Event{Kind: fleet.Upgraded, Error: "not to " + version + ", it stays " + m.cfg.Version + ": " + why})
}

// beginBinary tells what became of the last attempt.
func (m *Machine) beginBinary() {
	c := m.cfg.Binary
	m.due[settleTimer], m.due[binaryTimer] = m.now.Mono+settleAfter, m.now.Mono
	if c.FailedDigest != "" && m.BadBinary != c.FailedDigest {
		m.noBinary(c.FailedDigest, c.Failed.Version, c.Why)
	}
}

// doesWell writes down, once in a process, that its program does well. One that was on
// trial leaves, so that it is begun as the others are.
func (m *Machine) doesWell() {
	if m.replacing.settled || m.cfg.Binary.Arch == "" {
		return
	}
	m.replacing.settled = true
	m.do(ConfirmBinary{})
	if m.cfg.Binary.Trial {
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
