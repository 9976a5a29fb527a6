package apply

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/exec"
)

// validateInPlace validates files at their final paths. A rejected file is restored before any action
// runs.
func (r *forward) validateInPlace(indexes []int) error {
	for _, i := range indexes {
		s := r.machine.Step(i)
		v := s.Get("validate")
		if v == "" || !r.validates(i) || strings.Contains(v, "%s") || s.Verb != step.Copy || !r.effects[i].changed {
			continue
		}
		r.current = i
		err := r.validate(v, "")
		if err == nil {
			continue
		}
		if uerr := r.backward.back([]int{i}); uerr != nil {
			return uerr
		}
		if r.machine.Status(i) != Undone {
			return r.fail(i, StepFailed, err)
		}
		r.forget(i)
		return r.fail(i, StepFailed, fmt.Errorf("%w\nthe old content was restored", err))
	}
	return nil
}

// validates reports whether a change writes the result of its step. Restored content is not validated.
func (r *run) validates(i int) bool {
	a := r.plan.Changes[i].Action
	return a != plan.Remove && a != plan.Purge
}

// validate runs a validation command, in which temp replaces %s.
func (r *forward) validate(words, temp string) error {
	argv, err := step.SplitWords(words)
	if err != nil {
		return err
	}
	for k := range argv {
		argv[k] = strings.ReplaceAll(argv[k], "%s", temp)
	}
	switch err := exec.Run(r.ctx, r.Host, host.Command{Argv: argv}); {
	case err != nil && r.ctx.Err() != nil: // the result is unknown, so the file is not accepted
		return fmt.Errorf("the validation was interrupted: %w", err)
	case err != nil:
		return fmt.Errorf("the validation rejected the new file: %w", err)
	}
	return nil
}
