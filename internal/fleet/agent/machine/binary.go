package machine

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// settleAfter is the time after which a running binary counts as working even if it never reached a
// hub.
const settleAfter = 10 * time.Minute

// Newer is an assignment that a newer version of fettle wrote and that this version cannot read.
// Only its required binary is used; nil: it requires none.
type Newer struct {
	Why    string
	Binary *fleet.Binary
}

// Prepared ends a Prepare. Never reports that another attempt is useless, Same that this binary
// already runs.
type Prepared struct {
	Digest, Version string
	Error           string
	Never, Same     bool
}

// Prepare fetches a binary. It is tried after this process ends.
type Prepare struct{ Binary fleet.Binary }

// ConfirmBinary records durably that this binary works.
type ConfirmBinary struct{}

// Leave ends this process, so that a different binary can continue.
type Leave struct{}

func (Newer) event()          {}
func (Prepared) event()       {}
func (Prepare) action()       {}
func (ConfirmBinary) action() {}
func (Leave) action()         {}

// wantedBinary returns the binary that this host must run; the digest is "" if it must not change.
func (m *binaries) wantedBinary() (p fleet.Binary, digest string) {
	want := m.replacing.asked
	if want == nil && m.Accepted != nil {
		want = m.Accepted.Binary
	}
	if want == nil || m.cfg.Binary.Arch == "" {
		return p, ""
	}
	return *want, want.Files[m.cfg.Binary.Arch].Digest
}

// binary starts an upgrade of the agent if one is required.
func (m *binaries) binary() {
	r := &m.replacing
	if !r.settled && !m.cfg.Binary.Trial && m.isDue(settleTimer) {
		m.doesWell()
	}
	p, digest := m.wantedBinary()
	if p.Version != "" && digest == "" {
		m.refuse(fmt.Sprintf("version %s of the agent has no binary for the architecture of this host, %s", p.Version,
			m.cfg.Binary.Arch))
	}
	if m.mayPrepare(digest) && m.isDue(binaryTimer) {
		r.preparing = true
		m.do(Prepare{p})
	}
}

func (m *binaries) mayPrepare(digest string) bool {
	r := m.replacing
	return m.up && digest != "" && digest != m.cfg.Binary.Digest && digest != m.BadBinary &&
		!m.cfg.Binary.Trial && !r.preparing && !r.leaving && m.frozen() == ""
}

func (m *binaries) prepared(e Prepared) {
	r := &m.replacing
	r.preparing = false
	switch _, digest := m.wantedBinary(); {
	case e.Same:
		m.cfg.Binary.Digest = e.Digest
	case e.Digest != digest: // a different binary is required now
	case e.Error == "":
		m.failures[binaryTimer], r.leaving = 0, true
	case e.Never:
		m.noBinary(e.Digest, e.Version, e.Error)
	default:
		m.again(binaryTimer, firstFetch, longest)
	}
}

// noBinary reports a binary that failed, and prevents further attempts with it.
func (m *binaries) noBinary(digest, version, why string) {
	m.BadBinary, m.changed = digest, true
	m.report(fleet.Event{Kind: fleet.Upgraded, Error: "not to " + version + ", the agent keeps version " +
		m.cfg.Version + ": " + why})
}

// beginBinary reports the result of the last upgrade attempt.
func (m *binaries) beginBinary() {
	c := m.cfg.Binary
	m.due[settleTimer], m.due[binaryTimer] = m.now.Mono+settleAfter, m.now.Mono
	if c.FailedDigest != "" && m.BadBinary != c.FailedDigest {
		m.noBinary(c.FailedDigest, c.Failed.Version, c.Why)
	}
}

// doesWell records, once in each process, that the binary works. A binary on trial then ends, so
// that it starts again as a normal process.
func (m *binaries) doesWell() {
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
