package cli

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/render"
)

// mayRun refuses on a frozen machine, and settles earlier runs. It asks for the
// status once: that reads everything that is applied.
func (s *session) mayRun(ctx context.Context, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := s.refuseFrozen(st); err != nil {
		return err
	}
	return s.recoverRun(ctx, x, st, o)
}

// mayApply is mayRun for what is refused as well while a run waits to be confirmed. If
// another process has the lock, it may just be confirming or undoing that run: then the
// lock is what refuses.
func (s *session) mayApply(ctx context.Context, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := s.refuseFrozen(st); err != nil {
		return err
	}
	if a := st.Armed; a != nil && st.Locked == "" && st.Unfinished == 0 && s.app.Now().Before(time.Unix(0, a.Deadline)) {
		return refuse(fmt.Sprintf("Keep its changes: fettle confirm%s\nOr undo it: fettle rollback%s", s.there(), s.there()),
			fmt.Sprintf("cannot apply: run %d waits for its confirmation until %s", a.Run, s.moment(a.Deadline)))
	}
	return s.recoverRun(ctx, x, st, o)
}

// there names the machine in a command that is shown, where it is another one.
func (s *session) there() string {
	if s.remote == nil || s.target == "" {
		return ""
	}
	return " -t " + s.target
}

// recoverRun ends what an earlier run left, before anything is planned: a crash, a
// confirmation that did not come. Planning after it sees the machine as it will
// be, so that what is shown is what runs.
func (s *session) recoverRun(ctx context.Context, x executor.Executor, st executor.Condition, o executor.Options) error {
	late := st.Armed != nil && !s.app.Now().Before(time.Unix(0, st.Armed.Deadline))
	if st.Unfinished == 0 && !late {
		return nil
	}
	o = executor.Options{User: o.User, From: o.From, Command: o.Command, Version: o.Version}
	progress, show := s.progress()
	if st.Locked == "" { // else nothing is settled: who works here is told of instead
		s.printf("Recovering an earlier run first:\n")
	}
	rep, err := x.Recover(ctx, o, show)
	progress.Close()
	if rep != nil && !s.json {
		s.style().Report(s.app.Stdout, "Finished", rep, s.app.zone())
		s.printf("\n")
	}
	if ExitCode(err) == ExitRolledBack {
		return nil
	}
	return err
}

// progress shows events on stdout; with --json nobody sees them.
func (s *session) progress() (*render.Progress, func(executor.Event)) {
	live := s.app.Terminal.Out && s.app.Env("TERM") != "dumb"
	p := render.NewProgress(s.app.Stdout, s.style(), live, s.app.Now)
	if s.json {
		return p, func(executor.Event) {}
	}
	if live {
		p.Follow(time.NewTicker(time.Second).C)
	}
	return p, p.Show
}
