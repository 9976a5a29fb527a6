package agent

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
)

// Checker is an Enforcer that can also test checks of scopes.
type Checker interface {
	// Checks returns the checks that this target tests.
	Checks(ctx context.Context, c checks.Composition) ([]checks.Check, error)
	// Test tests a condition once, within a time limit. It can run concurrently with all other methods.
	Test(ctx context.Context, p query.Probe, limit time.Duration) error
}

// readAgain is the time between two attempts to read scopes.
const readAgain = 5 * time.Minute

// testerOf makes the tester of the checks of scopes for a runner. It returns nil if the runner cannot test any.
func testerOf(runner any, changed func([]fleet.CheckResult)) *checks.Tester[checks.Composition] {
	c, ok := runner.(Checker)
	if !ok {
		return nil
	}
	return &checks.Tester[checks.Composition]{Read: c.Checks, Test: c.Test, Again: readAgain, Changed: changed}
}
