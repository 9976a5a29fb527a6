package cli

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/render"
)

// mayRun refuses on a frozen machine, and recovers earlier runs. It reads the status once, because
// that reads the whole applied state.
func mayRun(ctx context.Context, s *printer, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := refuseFrozen(s, st); err != nil {
		return err
	}
	return recoverRun(ctx, s, x, st, o)
}

// mayApply is mayRun with more refusals while a run waits for its confirmation. If another process has
// the lock, it may confirm or undo that run at this moment: then only the lock refuses.
func mayApply(ctx context.Context, s *session, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := refuseFrozen(s.printer, st); err != nil {
		return err
	}
	if a := st.Armed; a != nil && st.Locked == "" && st.Unfinished == 0 && s.app.Now().Before(time.Unix(0, a.Deadline)) {
		return refuse(fmt.Sprintf("Keep its changes: fettle confirm%s\nOr undo it: fettle rollback%s", s.there(), s.there()),
			fmt.Sprintf("cannot apply: run %d waits for its confirmation until %s", a.Run, s.moment(a.Deadline)))
	}
	return recoverRun(ctx, s.printer, x, st, o)
}

// there names the machine in a command that is shown, where it is another one.
func (s *session) there() string {
	if s.remote == nil || s.target == "" {
		return ""
	}
	return " -t " + s.target
}

// recoverRun finishes or undoes an interrupted or unconfirmed run before the plan. The plan then
// compares with the final state of the machine, and the shown plan is the plan that runs.
func recoverRun(ctx context.Context, s *printer, x executor.Executor, st executor.Condition, o executor.Options) error {
	late := st.Armed != nil && !s.app.Now().Before(time.Unix(0, st.Armed.Deadline))
	if st.Unfinished == 0 && !late {
		return nil
	}
	o = executor.Options{User: o.User, From: o.From, Command: o.Command, Version: o.Version}
	progress, show := s.progress()
	if st.Locked == "" { // otherwise the owner of the lock is reported, and nothing is recovered
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

// progress shows events on stdout, except with --json.
func (s *printer) progress() (*render.Progress, func(executor.Event)) {
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
