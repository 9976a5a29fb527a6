package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// hostTask is something that is done once on each machine.
type hostTask struct {
	doing, verb string // while it is done, and when it is
	looks       bool   // it records nothing
	words       map[fanout.Status]string
	one         func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome
}

// onEach runs a task on the targets of -t, otherwise on this machine.
func onEach(ctx context.Context, s *cli.Session, many cli.ManyFlags, e hostTask) error {
	if len(s.Words) == 0 || s.ConnectOpts.SSH != "" {
		return alone(ctx, s, e)
	}
	cr, err := s.TargetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.Close()
	cr.Changes, cr.Acts = !e.looks, !e.looks
	return cr.Finish(e.verb, cr.Round(ctx, cr.Names, e.doing, true, e.one), e.words)
}

// alone does it on the one machine that is not named by -t.
func alone(ctx context.Context, s *cli.Session, e hostTask) error {
	return withNamed(ctx, s, e.looks, func(x executor.Executor) error {
		o := e.one(ctx, &cli.Member{Session: s}, x)
		if !e.looks {
			s.RecordInHistory(map[string]string{s.Named(): o.Status.String()})
		}
		if s.JSON {
			cli.TargetLine(s.Printer, s.Named(), o)
			return cli.Reported(o.Err)
		}
		if o.Err == nil {
			s.Printf("%s\n", strings.ToUpper(o.Line[:1])+o.Line[1:])
		}
		return o.Err
	})
}

// reconnectMember connects to the machine again, because the connection may be lost.
func reconnectMember(ctx context.Context, m *cli.Member) (executor.Executor, error) {
	if m.Remote == nil && !m.At.Far() {
		return nil, errors.New("cannot wait for the host on which this command runs")
	}
	m.Leave()
	x, err := cli.Connect(ctx, m.Session, m.At, false)
	if err != nil {
		return nil, err
	}
	m.Remote = x
	return x, nil
}

// waitUntil connects to the machine and calls try, until try reports success or ctx ends. It returns
// the last error of either.
func waitUntil(ctx context.Context, m *cli.Member, try func(executor.Executor) (bool, error)) error {
	pause := 200 * time.Millisecond
	for {
		x, err := reconnectMember(ctx, m)
		if err == nil {
			var done bool
			if done, err = try(x); done {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				err = context.Cause(ctx)
			}
			return err
		case <-time.After(pause):
			pause = min(2*pause, 5*time.Second)
		}
	}
}

// bootID changes with each boot of the machine.
func bootID(ctx context.Context, x executor.Executor) (string, error) {
	f, ok := x.(executor.Files)
	if !ok {
		return "", errors.New("cannot detect when it has booted: it only accepts step lists")
	}
	var b bytes.Buffer
	if _, err := f.Get(ctx, "/proc/sys/kernel/random/boot_id", &b); err != nil {
		return "", fmt.Errorf("cannot detect when it has booted: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// wentDown tells whether a machine that was told to reboot took the connection along.
func wentDown(err error) bool { return errors.Is(err, wire.ErrLost) }
