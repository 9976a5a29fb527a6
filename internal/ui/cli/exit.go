package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/round"
)

// The exit codes. They are part of the interface: scripts depend on them. A command
// that fettle run ran on one target gives its own.
const (
	ExitOK          = 0 // success
	ExitError       = 1
	ExitChanges     = 2 // there are changes or drift: plan, diff, drift, steps diff
	ExitCheckFailed = 3
	ExitLocked      = 4
	ExitStale       = 5 // the saved plan is stale
	ExitRolledBack  = 6
	ExitUsage       = 64 // EX_USAGE of sysexits(3): a command, flag or argument that does not exist
)

// errUsage is in the chain of the error of a command line that cannot be understood.
var errUsage = errors.New("wrong usage")

// misusedError keeps the text and the hint of an error, and adds errUsage to its chain.
type misusedError struct{ error }

func (m misusedError) Unwrap() []error { return []error{m.error, errUsage} }

// Misused marks an error as a wrong command line, for the exit code ExitUsage.
func Misused(err error) error { return misusedError{err} }

// ErrChanges ends a command that found differences. It is not a failure and prints nothing.
var ErrChanges = errors.New("there are changes")

// ExitCode is the one place where an error becomes a number. A run that failed
// a check and was then undone counts as rolled back.
func ExitCode(err error) int {
	var locked *host.LockedError
	var own ProgramExit
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &own):
		return int(own)
	case errors.Is(err, ErrChanges):
		return ExitChanges
	case errors.Is(err, executor.ErrUndone):
		return ExitRolledBack
	case errors.Is(err, executor.ErrCheckFailed):
		return ExitCheckFailed
	case errors.Is(err, executor.ErrLocked), errors.As(err, &locked):
		return ExitLocked
	case errors.Is(err, executor.ErrStale):
		return ExitStale
	case errors.Is(err, errUsage):
		return ExitUsage
	}
	return ExitError
}

// WithHint adds the next command of the user to an error; nil stays nil.
func WithHint(err error, text string) error { return hint.With(err, text) }

// Refuse returns an error with the command to type instead.
func Refuse(instead, text string) error { return hint.Refuse(instead, text) }

// byName says what interrupted a command, where its error only says that it was
// cancelled.
func byName(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, context.Canceled) || errors.Is(err, errReported) ||
		strings.Contains(err.Error(), cause.Error()) {
		return err
	}
	return fmt.Errorf("cannot continue: %w", cause)
}

// ProgramExit is the exit code of a command that ran on one target.
type ProgramExit int

func (e ProgramExit) Error() string { return fmt.Sprintf("the command exited with %d", int(e)) }

// errReported marks an error whose report has been shown. Only the exit code remains.
var errReported = errors.New("reported")

// Reported wraps err, keeping its exit code.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(errReported, err)
}

// ExitOf is the error that many outcomes come to: none, changes, or the one class of
// all that failed.
func ExitOf(all map[string]round.Outcome) error {
	var errs []error
	changes := false
	for _, name := range SortedNames(all) {
		o := all[name]
		switch {
		case errors.Is(o.Err, ErrChanges):
			changes = true
		case o.Err != nil:
			errs = append(errs, o.Err)
		case o.Status == fanout.Skipped:
			errs = append(errs, errors.New(o.Line))
		}
	}
	if len(errs) == 0 {
		if changes {
			return ErrChanges
		}
		return nil
	}
	class := ExitCode(errs[0])
	for _, err := range errs {
		if ExitCode(err) != class {
			return Reported(errors.New("some targets failed"))
		}
	}
	return Reported(errs[0])
}
