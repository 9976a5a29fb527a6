package agent

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/agent/service"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hostreboot"
)

// keeper keeps the certificates of services of a machine. Without a way to ask it only looks.
func keeper(s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member) (*service.Keeper, func() error, error) {
	if s.App.Agent.Services == nil {
		return nil, nil, errors.New("cannot request service certificates: this binary was built without support for them")
	}
	machine, reload, closing, err := s.App.Agent.Services(m)
	if err != nil {
		return nil, nil, err
	}
	return &service.Keeper{
		Files: machine, Dir: service.Dir, State: files, Wants: wantsDir, Request: mb.Request, Authorities: mb.Authorities,
		Reload: reload, Now: s.App.Now, Warn: func(text string) { fmt.Fprintln(s.App.Stderr, text) },
	}, closing, nil
}

// keepServices keeps certificates beside the agent, serves runs, and reboots the host with a slot, until end is called.
func keepServices(ctx context.Context, s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member, link fleet.Link,
	boot string, warn func(string)) (fetchRevocations func(context.Context, string) error, end func(), err error) {
	if s.App.Agent.Services == nil {
		return nil, func() {}, nil
	}
	k, closing, err := keeper(s, m, files, mb)
	if err != nil {
		return nil, nil, err
	}
	k.Warn = warn
	k.Request = func(ctx context.Context, a fleet.Request) (fleet.RequestAnswer, error) {
		return joined.RequestOver(ctx, link, a)
	}
	k.Lists = func(ctx context.Context) (fleet.Lists, error) { return joined.ListsOver(ctx, link) }
	pokes := make(chan struct{}, 1)
	err = link.Serve(fleet.MessageCertified, func(context.Context, []byte) ([]byte, error) {
		select {
		case pokes <- struct{}{}:
		default:
		}
		return nil, nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	endReboots, err := hostreboot.Keep(ctx, s, m, files,
		hostreboot.Agent{Dir: agentDir, Boot: boot, Link: link, Warn: warn})
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx, pokes) }()
	return k.FetchRevocations, func() { endReboots(); cancel(); <-done; _ = closing() }, nil
}
