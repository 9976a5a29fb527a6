package cli

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
)

// hostTask is something that is done once on each machine.
type hostTask struct {
	doing, verb string // while it is done, and when it is
	looks       bool   // it records nothing
	words       map[fanout.Status]string
	one         func(ctx context.Context, m *member, x executor.Executor) outcome
}

// onEach runs a task on the targets of -t, otherwise on this machine.
func onEach(ctx context.Context, s *session, many manyFlags, e hostTask) error {
	if len(s.words) == 0 || s.connectOpts.ssh != "" {
		return alone(ctx, s, e)
	}
	cr, err := s.targetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.close()
	cr.changes, cr.acts = !e.looks, !e.looks
	return cr.finish(e.verb, cr.round(ctx, cr.names, e.doing, true, e.one), e.words)
}

// alone does it on the one machine that is not named by -t.
func alone(ctx context.Context, s *session, e hostTask) error {
	return withNamed(ctx, s, e.looks, func(x executor.Executor) error {
		o := e.one(ctx, &member{session: s}, x)
		if !e.looks {
			s.note(map[string]string{s.named(): o.status.String()})
		}
		if s.json {
			targetLine(s.printer, s.named(), o)
			return reported(o.err)
		}
		if o.err == nil {
			s.printf("%s\n", strings.ToUpper(o.line[:1])+o.line[1:])
		}
		return o.err
	})
}

// again connects to the machine again, because the connection may be lost.
func (m *member) again(ctx context.Context) (executor.Executor, error) {
	if m.remote == nil && !m.at.far() {
		return nil, errors.New("cannot wait for the host on which this command runs")
	}
	m.leave()
	x, err := connect(ctx, m.session, m.at, false)
	if err != nil {
		return nil, err
	}
	m.remote = x
	return x, nil
}

// until reaches the machine again and again until what is tried there is done, or ctx
// ends. The error is the last of both.
func (m *member) until(ctx context.Context, try func(executor.Executor) (bool, error)) error {
	pause := 200 * time.Millisecond
	for {
		x, err := m.again(ctx)
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
