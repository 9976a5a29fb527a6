package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// stillIn asks on a terminal whether a login is still possible, and confirms the run if it is. Without
// an answer in time, the watching process undoes the run.
func stillIn(ctx context.Context, s *cli.Session, x executor.Executor, rep *executor.Report) error {
	if rep == nil || rep.ConfirmBy == 0 || s.JSON || !s.App.Terminal.In {
		return nil
	}
	late := fmt.Errorf("%w: run %d was not confirmed in time", executor.ErrUndone, rep.Run)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Unix(0, rep.ConfirmBy).Sub(s.App.Now()), late)
	defer cancel()
	yes, err := s.Question(ctx, "Log in again, over a new connection. Can you still log in?")
	if err != nil {
		return err
	}
	if !yes {
		s.Printf("It is undone at %s. To keep it: fettle confirm. To undo it now: fettle rollback\n", s.Moment(rep.ConfirmBy))
		return nil
	}
	run, err := x.Confirm(ctx, s.RunOptions())
	if err == nil {
		s.Printf("Run %d is confirmed and stays.\n", run)
	}
	return err
}

// confirmPause is how long sshd on a machine is given between two tries.
const confirmPause = 2 * time.Second

// confirmAnew confirms a run that may have locked users out over a new connection, which proves that a
// login is possible. If there is no connection in time, the machine undoes the run.
func confirmAnew(ctx context.Context, s *cli.Session, rep *executor.Report) error {
	if rep == nil || rep.ConfirmBy == 0 {
		return nil
	}
	late := fmt.Errorf("%w: no new connection reached %s in time, so run %d is undone at %s", executor.ErrUndone, s.At,
		rep.Run, s.Moment(rep.ConfirmBy))
	ctx, cancel := context.WithDeadlineCause(ctx, time.Unix(0, rep.ConfirmBy), late)
	defer cancel()
	for {
		err := confirmOver(ctx, s)
		if err == nil {
			s.Printf("A new connection reached %s, so run %d stays.\n", s.At, rep.Run)
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if cli.SleepUntil(ctx, s.Printer, s.App.Now().Add(confirmPause)) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func confirmOver(ctx context.Context, s *cli.Session) error {
	x, err := cli.Connect(ctx, s, s.At, false)
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	_, err = x.Confirm(ctx, s.RunOptions())
	return err
}
