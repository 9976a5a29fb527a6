package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
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

// config returns the part of the configuration that describes the agent's own binary.
func (p *agentBinaries) config(k binary.Kept) machine.Binary {
	c := machine.Binary{Arch: p.s.App.Agent.Binary.Arch, Digest: p.self.Digest, Trial: p.onTrial(k)}
	if f := k.Failed; f != nil {
		c.FailedDigest, c.Why = f.Digest, f.Why
		c.Failed.Version = f.Version
	}
	return c
}

func (p *agentBinaries) onTrial(k binary.Kept) bool {
	return k.Trial != nil && k.Trial.Digest == p.self.Digest
}

// Settled implements agent.Programs.
func (p *agentBinaries) Settled() error {
	return p.directory.Change(func(k binary.Kept) binary.Kept { return k.Settled(p.self.Digest) })
}

// Prepare implements agent.Programs.
func (p *agentBinaries) Prepare(ctx context.Context, want fleet.Binary) error {
	file := want.Files[p.s.App.Agent.Binary.Arch]
	b := binary.Build{Digest: file.Digest, Version: want.Version}
	if err := p.takes(b); err != nil {
		return err
	}
	if err := p.install(ctx, want, b); err != nil {
		return err
	}
	if err := p.check(ctx, b); err != nil {
		return err
	}
	if err := durable.Keep(p.files, agentDir); err != nil {
		return err
	}
	return p.directory.Change(func(k binary.Kept) binary.Kept { return k.Begin(b, want.Try()) })
}

// takes tells whether there is a reason not to become a program, before it is fetched.
func (p *agentBinaries) takes(b binary.Build) error {
	k, err := p.directory.Load()
	if err != nil {
		return err
	}
	if debver.Compare(b.Version, k.Package.Version) < 0 {
		return fmt.Errorf("%w: it is older than %s, the version of the installed package", agent.ErrNever, k.Package.Version)
	}
	if p.self.Digest != "" {
		return nil
	}
	own, err := p.s.App.Agent.Binary.Digest()
	if err == nil && own == b.Digest {
		return agent.ErrSame
	}
	return err
}

func (p *agentBinaries) install(ctx context.Context, want fleet.Binary, b binary.Build) error {
	r, err := p.mb.Binary(ctx, want, p.s.App.Agent.Binary.Arch, p.s.App.Version)
	if err != nil {
		return err
	}
	err = p.directory.Install(b, r)
	return errors.Join(err, r.Close(), p.mb.Forget(want.Files[p.s.App.Agent.Binary.Arch]))
}

// check starts a binary that reports its version, and that reads the stored files of this agent.
func (p *agentBinaries) check(ctx context.Context, b binary.Build) error {
	said, err := versionOf(ctx, p.s, p.path(b))
	if err == nil && said != b.Version {
		err = fmt.Errorf("it reports version %s instead of %s", said, b.Version)
	}
	if err == nil {
		_, err = p.s.App.Agent.Binary.Run(ctx, []string{p.path(b), "agent", "status", "--json", "--root", p.m.Root, "--state",
			p.m.State})
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: it fails its own check: %w", agent.ErrNever, err)
	}
	return err
}
