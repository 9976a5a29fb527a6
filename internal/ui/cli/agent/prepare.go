package agent

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/fleet/agent/durable"
)

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
