package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/fleet/agent/claim"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

func newAgentRun(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the agent of this host in the foreground",
		Long: "Runs the agent in the foreground, as the service fettle-agent does. A signal\n" +
			"ends a current run cleanly: the agent finishes or undoes the current step. After\n" +
			"the next start, the agent continues.",
		Example: "  sudo systemctl start fettle-agent\n  sudo fettle agent run",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return agentRun(c.Context(), s) },
	}
}

func agentRun(ctx context.Context, s *cli.Session) (err error) {
	m, files, done, err := agentFiles(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	warn := func(text string) { fmt.Fprintln(s.App.Stderr, text) }
	mb, err := openMember(s.Printer, m, files, warn)
	if err != nil {
		return err
	}
	if secrets := s.App.Language.Secrets; secrets != nil {
		secrets(s.Identities)
	}
	if s.App.Agent.Ready != nil {
		defer s.App.Agent.Ready(ctx)()
	}
	return agentOrOther(ctx, s.Printer, m, files, mb, warn)
}

// agentOrOther runs the agent with this binary, or changes to another binary, or tries one.
func agentOrOther(ctx context.Context, s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member,
	warn func(string)) error {
	p := newAgentBinaries(s, m, files, warn)
	if p == nil {
		return beAgent(ctx, s, m, files, mb, nil, binary.Kept{}, warn)
	}
	p.mb = mb
	for ctx.Err() == nil {
		k, choice := p.decide()
		switch choice {
		case binary.Become:
			p.become(*k.Chosen)
		case binary.Try:
			p.try(ctx, *k.Trial)
		default:
			err := beAgent(ctx, s, m, files, mb, p, k, warn)
			if errors.Is(err, agent.ErrReplace) && p.onTrial(k) {
				return nil // the parent process continues as this binary
			}
			if !errors.Is(err, agent.ErrReplace) {
				return err
			}
		}
	}
	return nil
}

// beAgent runs the agent until ctx ends, or until another binary continues.
func beAgent(ctx context.Context, s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member, p *agentBinaries,
	k binary.Kept, warn func(string)) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	link, err := mb.Link(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	dir, err := durable.Open(files, agentDir)
	if err != nil {
		return err
	}
	conf := agentConfig(s, m, files, mb, link, dir, warn)
	if p != nil {
		conf.Binaries, conf.Machine.Binary = p, p.config(k)
	}
	if p == nil || !p.onTrial(k) { // another program is the agent still
		fetchRevocations, end, err := keepServices(ctx, s, m, files, mb, link, conf.Machine.Boot, warn)
		if err != nil {
			return err
		}
		defer end()
		conf.FetchRevocations = fetchRevocations
	}
	claims := &claim.Claimer{Files: files, Dir: agentDir, Link: link, Copy: fleet.Copy{Boot: conf.Machine.Boot},
		Warn: warn}
	conf.Claims = func(ctx context.Context, numbered func(uint64)) error {
		describeHost(ctx, s, m, &claims.Copy)
		return claims.Run(ctx, numbered)
	}
	a, err := agent.New(conf)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}
