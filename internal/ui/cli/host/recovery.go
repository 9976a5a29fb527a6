package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// mayRun refuses on a frozen machine unless the options override it, and recovers earlier runs. It reads
// the status once, because that reads the whole applied state.
func mayRun(ctx context.Context, s *cli.Printer, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := refuseFrozen(s, st); err != nil && !o.IgnoreFreeze {
		return err
	}
	return recoverRun(ctx, s, x, st, o)
}

// mayApply is mayRun with more refusals while a run waits for its confirmation. If another process has
// the lock, it may confirm or undo that run at this moment: then only the lock refuses.
func mayApply(ctx context.Context, s *cli.Session, x executor.Executor, o executor.Options) error {
	st, err := x.Condition(ctx)
	if err != nil {
		return err
	}
	if err := refuseFrozen(s.Printer, st); err != nil && !o.IgnoreFreeze {
		return err
	}
	if a := st.Armed; a != nil && st.Locked == "" && st.Unfinished == 0 && s.App.Now().Before(time.Unix(0, a.Deadline)) {
		return cli.Refuse(fmt.Sprintf("Keep its changes: fettle confirm%s\nOr undo it: fettle rollback%s", whereText(s),
			whereText(s)),
			fmt.Sprintf("cannot apply: run %d waits for its confirmation until %s", a.Run, s.Moment(a.Deadline)))
	}
	return recoverRun(ctx, s.Printer, x, st, o)
}

// whereText names the machine in a command that is shown, where it is another one.
func whereText(s *cli.Session) string {
	if s.Remote == nil || s.Target == "" {
		return ""
	}
	return " -t " + s.Target
}

// recoverRun finishes or undoes an interrupted or unconfirmed run before the plan. The plan then
// compares with the final state of the machine, and the shown plan is the plan that runs.
func recoverRun(ctx context.Context, s *cli.Printer, x executor.Executor, st executor.Condition,
	o executor.Options) error {
	late := st.Armed != nil && !s.App.Now().Before(time.Unix(0, st.Armed.Deadline))
	if st.Unfinished == 0 && !late {
		return nil
	}
	o = executor.Options{User: o.User, From: o.From, Command: o.Command, Version: o.Version}
	progress, show := progressOf(s)
	if st.Locked == "" { // otherwise the owner of the lock is reported, and nothing is recovered
		s.Printf("Recovering an earlier run first:\n")
	}
	rep, err := x.Recover(ctx, o, show)
	progress.Close()
	if rep != nil && !s.JSON {
		s.Style().Report(s.App.Stdout, "Finished", rep, s.App.TimeZone())
		s.Printf("\n")
	}
	if cli.ExitCode(err) == cli.ExitRolledBack {
		return nil
	}
	return err
}

// progressOf shows events on stdout, except with --json.
func progressOf(s *cli.Printer) (*render.Progress, func(executor.Event)) {
	live := s.App.Terminal.Out && s.App.Env("TERM") != "dumb"
	p := render.NewProgress(s.App.Stdout, s.Style(), live, s.App.Now)
	if s.JSON {
		return p, func(executor.Event) {}
	}
	if live {
		p.Follow(time.NewTicker(time.Second).C)
	}
	return p, p.Show
}

// orSkip adds how to roll back without addresses that cannot be restored now.
func orSkip(err error) error {
	var list *diag.ListError
	if !errors.As(err, &list) {
		return err
	}
	return cli.WithHint(err,
		"Remove the obstacle, or roll back all other addresses: add --skip-blocked. The same command restores the rest later.")
}
