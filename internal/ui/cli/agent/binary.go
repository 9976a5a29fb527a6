package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// binaryDir is where programs lie in the state directory.
const binaryDir = "/program"

// agentBinaries are the binaries that an agent can run: its own and others.
type agentBinaries struct {
	s         *cli.Printer
	m         cli.Machine
	files     host.FS
	directory binary.Directory
	self      binary.Self
	warn      func(string)
	mb        *joined.Member
}

// newAgentBinaries opens the directory; nil where this program cannot be exchanged.
func newAgentBinaries(s *cli.Printer, m cli.Machine, files host.FS, warn func(string)) *agentBinaries {
	if s.App.Agent.Binary == nil {
		return nil
	}
	p := &agentBinaries{s: s, m: m, files: files, directory: binary.Directory{Files: files, Dir: binaryDir}, warn: warn}
	p.self.Version = s.App.Version
	file, err := s.App.Agent.Binary.File()
	if err != nil {
		warn("this binary cannot be replaced: " + err.Error())
		return nil
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(m.State, binaryDir)); err == nil && filepath.Dir(file) == real {
		p.self.Digest = "sha256:" + filepath.Base(file)
	}
	return p
}

func (p *agentBinaries) path(b binary.Build) string {
	return filepath.Join(p.m.State, binaryDir, binary.Name(b))
}

// decide returns the next operation. If a file cannot be read or written, the agent keeps its current
// binary, which works.
func (p *agentBinaries) decide() (binary.Kept, binary.Choice) {
	was, err := p.directory.Load()
	if err != nil {
		p.warn(err.Error())
		return binary.Kept{}, binary.Stay
	}
	k, choice := binary.Decide(was, p.self)
	if same := p.directory.Same(k, was); same {
		return k, choice
	}
	if err := p.directory.Save(k); err != nil {
		p.warn(err.Error())
		return k, binary.Stay
	}
	if p.self.Digest == "" {
		if err := p.directory.Clean(k); err != nil {
			p.warn(err.Error())
		}
	}
	return k, choice
}

// become replaces this process with the chosen binary. It returns only if that binary cannot be
// started.
func (p *agentBinaries) become(b binary.Build) {
	err := p.directory.Verify(b)
	if err == nil {
		err = p.s.App.Agent.Binary.Become(p.path(b))
	}
	p.fail(b, err.Error())
}

func (p *agentBinaries) fail(b binary.Build, why string) {
	p.warn(fmt.Sprintf("the binary %s is rejected: %s", b.Version, why))
	var is binary.Kept
	err := p.directory.Change(func(k binary.Kept) binary.Kept { is = k.Fail(b, why); return is })
	if err == nil {
		err = p.directory.Clean(is)
	}
	if err != nil {
		p.warn(err.Error())
	}
}

// try looks after a new program until it ends: it has told by then that it reached a hub,
// or it has failed.
func (p *agentBinaries) try(ctx context.Context, t binary.Trial) {
	if err := p.directory.Verify(t.Build); err != nil {
		p.fail(t.Build, err.Error())
		return
	}
	p.warn(fmt.Sprintf("the binary %s is on trial: it must reach a hub within %s", t.Version, t.Within))
	trying, stop := context.WithCancel(ctx)
	defer stop()
	late := make(chan struct{})
	timer := time.AfterFunc(t.Within, func() {
		if p.tried(t) {
			close(late)
			stop()
		}
	})
	defer timer.Stop()
	err := p.s.App.Agent.Binary.Try(trying, p.path(t.Build))
	if ctx.Err() != nil || !p.tried(t) {
		return
	}
	why := "it ended before it reached a hub"
	if err != nil {
		why += ": " + err.Error()
	}
	select {
	case <-late:
		why = fmt.Sprintf("it reached no hub within %s", t.Within)
	default:
	}
	p.fail(t.Build, why)
	if err := durable.Return(p.files, agentDir); err != nil {
		p.warn(err.Error())
	}
}

// tried tells whether a program is on trial still.
func (p *agentBinaries) tried(t binary.Trial) bool {
	k, err := p.directory.Load()
	return err == nil && k.Trial != nil && k.Trial.Digest == t.Digest
}

func (p *agentBinaries) onTrial(k binary.Kept) bool {
	return k.Trial != nil && k.Trial.Digest == p.self.Digest
}
