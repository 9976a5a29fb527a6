//go:build !target

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/agent/program"
	"fettle.dev/fettle/internal/host"
)

// programDir is where programs lie in the state directory.
const programDir = "/program"

// programs is what an agent's program knows of others.
type programs struct {
	s      *session
	m      Machine
	files  host.FS
	folder program.Folder
	self   program.Self
	warn   func(string)
	mb     *joined.Member
}

// programs opens the folder; nil where this program cannot be exchanged.
func (s *session) programs(m Machine, files host.FS, warn func(string)) *programs {
	if s.app.Program == nil {
		return nil
	}
	p := &programs{s: s, m: m, files: files, folder: program.Folder{Files: files, Dir: programDir}, warn: warn}
	p.self.Version = s.app.Version
	file, err := s.app.Program.File()
	if err != nil {
		warn("this binary cannot be replaced: " + err.Error())
		return nil
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(m.State, programDir)); err == nil && filepath.Dir(file) == real {
		p.self.Digest = "sha256:" + filepath.Base(file)
	}
	return p
}

func (p *programs) path(b program.Build) string {
	return filepath.Join(p.m.State, programDir, program.Name(b))
}

// decide says what to do now. What cannot be read or written leaves this program the one
// that it is: it works.
func (p *programs) decide() (program.Kept, program.Choice) {
	was, err := p.folder.Load()
	if err != nil {
		p.warn(err.Error())
		return program.Kept{}, program.Stay
	}
	k, choice := program.Decide(was, p.self)
	if same := p.folder.Same(k, was); same {
		return k, choice
	}
	if err := p.folder.Save(k); err != nil {
		p.warn(err.Error())
		return k, program.Stay
	}
	if p.self.Digest == "" {
		if err := p.folder.Clean(k); err != nil {
			p.warn(err.Error())
		}
	}
	return k, choice
}

// become gives way to the chosen program, and comes back only when that cannot be begun.
func (p *programs) become(b program.Build) {
	err := p.folder.Verify(b)
	if err == nil {
		err = p.s.app.Program.Become(p.path(b))
	}
	p.fail(b, err.Error())
}

func (p *programs) fail(b program.Build, why string) {
	p.warn(fmt.Sprintf("the binary %s is rejected: %s", b.Version, why))
	var is program.Kept
	err := p.folder.Change(func(k program.Kept) program.Kept { is = k.Fail(b, why); return is })
	if err == nil {
		err = p.folder.Clean(is)
	}
	if err != nil {
		p.warn(err.Error())
	}
}

// try looks after a new program until it ends: it has told by then that it reached a hub,
// or it has failed.
func (p *programs) try(ctx context.Context, t program.Trial) {
	if err := p.folder.Verify(t.Build); err != nil {
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
	err := p.s.app.Program.Try(trying, p.path(t.Build))
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
func (p *programs) tried(t program.Trial) bool {
	k, err := p.folder.Load()
	return err == nil && k.Trial != nil && k.Trial.Digest == t.Digest
}

// config is what the agent has to know of its own program.
func (p *programs) config(k program.Kept) machine.Program {
	c := machine.Program{Arch: p.s.app.Program.Arch, Digest: p.self.Digest, Trial: p.onTrial(k)}
	if f := k.Failed; f != nil {
		c.FailedDigest, c.Why = f.Digest, f.Why
		c.Failed.Version = f.Version
	}
	return c
}

func (p *programs) onTrial(k program.Kept) bool {
	return k.Trial != nil && k.Trial.Digest == p.self.Digest
}

// Settled implements agent.Programs.
func (p *programs) Settled() error {
	return p.folder.Change(func(k program.Kept) program.Kept { return k.Settled(p.self.Digest) })
}

// Prepare implements agent.Programs.
func (p *programs) Prepare(ctx context.Context, want fleet.Program) error {
	file := want.Files[p.s.app.Program.Arch]
	b := program.Build{Digest: file.Digest, Version: want.Version}
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
	return p.folder.Change(func(k program.Kept) program.Kept { return k.Begin(b, want.Try()) })
}

// takes tells whether there is a reason not to become a program, before it is fetched.
func (p *programs) takes(b program.Build) error {
	k, err := p.folder.Load()
	if err != nil {
		return err
	}
	if debver.Compare(b.Version, k.Package.Version) < 0 {
		return fmt.Errorf("%w: it is older than %s, the version of the installed package", agent.ErrNever, k.Package.Version)
	}
	if p.self.Digest != "" {
		return nil
	}
	own, err := p.s.app.Program.Digest()
	if err == nil && own == b.Digest {
		return agent.ErrSame
	}
	return err
}

func (p *programs) install(ctx context.Context, want fleet.Program, b program.Build) error {
	r, err := p.mb.Program(ctx, want, p.s.app.Program.Arch, p.s.app.Version)
	if err != nil {
		return err
	}
	err = p.folder.Install(b, r)
	return errors.Join(err, r.Close(), p.mb.Forget(want.Files[p.s.app.Program.Arch]))
}

// check has a program say what it is, and read what this agent has kept.
func (p *programs) check(ctx context.Context, b program.Build) error {
	said, err := p.s.versionOf(ctx, p.path(b))
	if err == nil && said != b.Version {
		err = fmt.Errorf("it reports version %s instead of %s", said, b.Version)
	}
	if err == nil {
		_, err = p.s.app.Program.Run(ctx, []string{p.path(b), "agent", "status", "--json", "--root", p.m.Root, "--state", p.m.State})
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: it fails its own check: %w", agent.ErrNever, err)
	}
	return err
}
