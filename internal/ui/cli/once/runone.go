package once

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// runCommand runs a command where -t says. json tells that it prints JSON.
func runCommand(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	if s.IsMany() {
		return runMany(ctx, s, f, cmd, json)
	}
	return runOne(ctx, s, f, cmd, json)
}

// runOne runs a command on a single machine. It prints the output as it is, or as a table if it is
// JSON.
func runOne(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	if f.dryRun {
		var on []string
		if name := s.Named(); name != "" {
			on = []string{name}
		}
		return wouldRun(s.Printer, cmd, on)
	}
	return withNamed(ctx, s, cmd.ReadOnly, func(x executor.Executor) error {
		cx, ok := x.(executor.Commander)
		if !ok {
			return errors.New("cannot run commands there: it only accepts step lists")
		}
		show := passOn(s.Printer)
		if json {
			show = nil
		}
		res, err := cx.Command(ctx, cmd, s.RunOptions(), show)
		s.RecordInHistory(map[string]string{s.Named(): outcomeOfCommand(res, err).Status.String()})
		if errors.Is(err, context.Canceled) {
			return cli.WithHint(err, "Its effects until then remain. See the history: fettle log")
		}
		if res == nil || err != nil {
			return err
		}
		switch {
		case s.JSON:
			if err := s.Document(commandJSON(cmd, res)); err != nil {
				return err
			}
		case json:
			if err := showJSON(s.Printer, res); err != nil {
				return err
			}
		}
		return endOfOne(s.Printer, res, cmd)
	})
}

// withNamed is withState, or withExecutor for a read-only command.
func withNamed(ctx context.Context, s *cli.Session, looks bool, fn func(executor.Executor) error) error {
	if looks {
		return cli.WithExecutor(ctx, s, fn)
	}
	return cli.WithState(ctx, s, fn)
}

// passOn gives output to this command's own streams.
func passOn(s *cli.Printer) func(executor.Output) {
	if s.JSON {
		return nil
	}
	return func(o executor.Output) {
		w := s.App.Stdout
		if o.Stderr {
			w = s.App.Stderr
		}
		_, _ = w.Write(o.Text) // the exit code reports a closed pipe
	}
}

// endOfOne is the exit of a command on one target.
func endOfOne(s *cli.Printer, r *executor.CommandResult, c executor.Command) error {
	switch {
	case r.OK():
		return nil
	case r.TimedOut:
		return cli.Refuse("Allow more time: --timeout TIME",
			fmt.Sprintf("cannot continue: the command took longer than %s, and was stopped", render.Duration(c.Timeout)))
	case r.Exit < 0:
		return fmt.Errorf("cannot continue: the command was stopped by a signal: %s", r.Signal)
	}
	return cli.Reported(cli.ProgramExit(r.Exit))
}
