package host

import (
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

// execute runs something that reports, shows its progress, and prints the
// report whether or not it failed.
func execute(s *cli.Session, p *plan.Plan, verb string,
	run func(func(executor.Event)) (*executor.Report, error)) error {
	progress, show := progressOf(s.Printer)
	space(s.Printer, p)
	rep, err := run(show)
	progress.Close()
	err = outcomeError(rep, err)
	if rep == nil {
		return err
	}
	if s.JSON {
		if derr := s.Document(reportJSON(rep, p, err)); derr != nil {
			return derr
		}
		return cli.Reported(err)
	}
	if progress.Wrote() {
		space(s.Printer, p)
	}
	s.Style().Report(s.App.Stdout, verb, rep, s.App.TimeZone())
	if err != nil && rep.Failed == nil && !explained(rep) {
		return err
	}
	if err != nil {
		s.ErrStyle().Hint(s.App.Stderr, afterFailure(s, rep))
	}
	return cli.Reported(err)
}

// space sets the plan, the progress and the report apart.
func space(s *cli.Printer, p *plan.Plan) {
	if p != nil && len(p.Changes) > 0 {
		s.Printf("\n")
	}
}

// afterFailure returns the next commands for the user after a failed run.
func afterFailure(s *cli.Session, r *executor.Report) string {
	if r.Run == 0 || r.Outcome == "rolled-back" {
		return "See what happened: fettle log"
	}
	see, at := fmt.Sprintf("See what happened: fettle show %d%s\n", r.Run, whereText(s)), whereText(s)
	switch {
	case r.Changed == 0 && r.ConfirmBy == 0:
		return see + "Fix the cause and try again: fettle apply" + at
	case r.ConfirmBy != 0:
		return see + fmt.Sprintf("Undo it: fettle rollback%s\nOr keep its changes: fettle confirm%s. Then fix the cause and continue: fettle apply%s", at, at, at)
	}
	return see + fmt.Sprintf("Undo it: fettle rollback%s\nOr fix the cause and continue: fettle apply%s", at, at)
}
