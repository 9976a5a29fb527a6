package agent

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/binary"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/agent/watch"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/once"
)

func agentConfig(s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member, link fleet.Link, dir *durable.Dir,
	warn func(string)) agent.Config {
	boot := ""
	var units func(context.Context, func(string)) error
	if s.App.Agent.Watch != nil {
		boot, units = s.App.Agent.Watch(m)
	}
	var watcher agent.Watcher = agent.NoWatcher{Reason: "this host has no way to watch files"}
	if w, err := watch.New(m.Root, units); err == nil {
		watcher = w
	}
	memory := commandMemory(files, mb)
	runner := &agent.Runner{
		Open:  func(ctx context.Context) (executor.Executor, func() error, error) { return s.App.OpenExecutor(ctx, m) },
		Facts: func(ctx context.Context) (map[string]cty.Value, error) { return s.App.Facts(ctx, m) },
		Admit: func(d fleet.Job) (agent.Admission, error) {
			p, err := commandPolicy(m)
			return agent.AdmitJob(p, err, memory, d)
		},
		Compile: s.App.Language.Compile,
		Call: func(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List) {
			return once.CallAction(s, compile.ActionQuery{Input: in, Name: name, Params: params, DryRun: dry})
		},
		Content: mb, Contact: mb.Contact,
		MayArm: m.Root == "/", Now: s.App.Now, Version: s.App.Version,
	}
	runner.Scopes = scopesOf(s, m, files)
	runner.MayAdopt, runner.OnAdopted = adopting(s, files, warn)
	if below, err := filepath.Rel(m.Root, m.State); err == nil && !strings.HasPrefix(below, "..") {
		runner.ExtraPaths = []string{filepath.Join("/", below, journal.FrozenFile)}
	}
	return agent.Config{
		Machine: machine.Config{Target: mb.ID(), Version: s.App.Version, Boot: boot},
		Dir:     dir, Link: link, Runner: runner, Content: mb, Watcher: watcher, Zone: zoneOf(s, m),
		Place:  placeOf(s, m),
		Verify: mb.Verify, Certificate: mb.Certificate, Renew: mb.Renew, Now: s.App.Now, Warn: warn, OnIdle: s.App.Agent.Calm,
		Serve: func(ctx context.Context, header []byte, stream io.ReadWriteCloser) {
			serveHub(ctx, s, hubStream{m, mb, memory, header, stream})
		},
	}
}

// describeHost sets the properties by which operators recognize this host among others that have its
// identity. Properties that cannot be read stay empty.
func describeHost(ctx context.Context, s *cli.Printer, m cli.Machine, c *fleet.Copy) {
	c.Host, _ = s.App.Hostname()
	facts, err := s.App.Facts(ctx, m)
	if id := facts["machine_id"]; err == nil && id.Type() == cty.String && id.IsKnown() && !id.IsNull() {
		c.Machine = id.AsString()
	}
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

// zoneOf returns a function that reads the time zone of a machine, or nil if the zone cannot be read.
func zoneOf(s *cli.Printer, m cli.Machine) func() string {
	if s.App.Agent.Zone == nil {
		return nil
	}
	return func() string { return s.App.Agent.Zone(m) }
}
