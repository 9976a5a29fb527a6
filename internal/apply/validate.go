package apply

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/exec"
)

// validateInPlace runs the validation of files that must stand in their place
// for it. One that is not accepted is put back before anybody is told.
func (r *run) validateInPlace(indexes []int) error {
	for _, i := range indexes {
		s := r.m.Step(i)
		v := s.Get("validate")
		if v == "" || !r.validates(i) || strings.Contains(v, "%s") || s.Verb != step.Copy || !r.fx[i].changed {
			continue
		}
		r.at = i
		err := r.validate(v, "")
		if err == nil {
			continue
		}
		if uerr := r.back([]int{i}); uerr != nil {
			return uerr
		}
		if r.m.Status(i) != Undone {
			return r.fail(i, StepFailed, err)
		}
		r.forget(i)
		return r.fail(i, StepFailed, fmt.Errorf("%w\nthe old content is back", err))
	}
	return nil
}

// validates tells whether a change writes what its step asks for: what is put
// back needs nobody's consent.
func (r *run) validates(i int) bool {
	a := r.plan.Changes[i].Action
	return a != plan.Remove && a != plan.Purge
}

// validate runs a validation; temp stands in for %s in its words.
func (r *run) validate(words, temp string) error {
	argv, err := step.SplitWords(words)
	if err != nil {
		return err
	}
	for k := range argv {
		argv[k] = strings.ReplaceAll(argv[k], "%s", temp)
	}
	switch err := exec.Run(r.ctx, r.Host, host.Command{Argv: argv}); {
	case err != nil && r.ctx.Err() != nil: // nobody knows, so that the file is not accepted
		return fmt.Errorf("the validation was interrupted: %w", err)
	case err != nil:
		return fmt.Errorf("the validation does not accept it: %w", err)
	}
	return nil
}
