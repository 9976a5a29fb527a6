package once

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// runMany runs a command on every target that is selected.
func runMany(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	if f.dryRun {
		return wouldRun(s.Printer, cmd, cr.Names)
	}
	return cr.Finish("Ran it on", commandEach(ctx, cr, cr.Names, json, always(cmd)), ranWords())
}

// commandOf returns the command of a target, or its result if there is no command.
type commandOf func(context.Context, *cli.Member) (executor.Command, *round.Outcome, error)

func always(cmd executor.Command) commandOf {
	return func(context.Context, *cli.Member) (executor.Command, *round.Outcome, error) { return cmd, nil, nil }
}

func ranWords() map[fanout.Status]string { return map[fanout.Status]string{fanout.OK: "succeeded"} }

// commandEach runs on targets what each is given for it. json tells that it prints JSON,
// which is shown when all have ended.
func commandEach(ctx context.Context, cr *cli.TargetSet, names []string, json bool,
	of commandOf) map[string]round.Outcome {
	cr.Changes, cr.Acts = true, true
	lines := linesOf(cr, names)
	if json {
		lines = nil
	}
	cr.Quiet = lines != nil
	all := cr.Round(ctx, names, "Running", true, func(ctx context.Context, m *cli.Member,
		x executor.Executor) round.Outcome {
		cmd, instead, err := of(ctx, m)
		if err != nil {
			return cli.Failed(err)
		}
		if instead != nil {
			return *instead
		}
		cx, ok := x.(executor.Commander)
		if !ok {
			return cli.Failed(errors.New("cannot run commands there: it only accepts step lists"))
		}
		show, flush := lines.of(m.Target)
		res, err := cx.Command(ctx, cmd, m.RunOptions(), show)
		flush()
		o := outcomeOfCommand(res, err)
		if err == nil {
			o.Doc = commandJSON(cmd, res)
			if len(cr.Names) == 1 && res.Exit > 0 {
				o.Err = cli.ProgramExit(res.Exit)
			}
		}
		switch {
		case json && err == nil && res.OK() && !cr.Session.JSON:
			return tabled(o, res)
		case lines == nil && res != nil:
			o.Body = outputText(res) + o.Body
		}
		return o
	})
	showRows(cr.Session.Printer, all)
	return all
}
