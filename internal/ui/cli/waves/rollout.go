// Package waves performs a rollout on the targets of a command, and shows it:
//
//	w := waves.Rollout{Targets: set, Strategy: "careful", Plan: plan, Apply: apply, Check: check, …}
//	err := w.Run(ctx)
//
// Package push decides. The command gives the operations on one target.
package waves

import (
	"context"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// Operation is an operation on one target.
type Operation func(context.Context, *cli.Member, executor.Executor) round.Outcome

// Rollout is a rollout of the repository. All fields except Decisions and IgnoreWindows must be set.
type Rollout struct {
	Targets  *cli.TargetSet
	Strategy string // the name
	Decisions
	// IgnoreWindows changes targets outside of their windows.
	IgnoreWindows bool
	// Plan compares a target with the repository.
	Plan func(context.Context, *cli.Member, executor.Executor) (*plan.Plan, round.Outcome)
	// Apply applies the repository and runs the checks. Check makes no repairs, and fails if the target
	// differs.
	Apply, Check Operation
	// Return rolls back to a run.
	Return func(ctx context.Context, x executor.Executor, run int) round.Outcome
	// Ask shows the plans before a new rollout, and asks the user.
	Ask func(ctx context.Context, question string) error
}

// Decisions are decisions of the operator about a rollout that began before.
type Decisions struct {
	Resume bool // continue although it paused
	// Approve and Reject are the names of approval gates for which it waits. Silent means that the operator must not be
	// asked while it runs.
	Approve, Reject []string
	Silent          bool
}

// performed is a rollout in progress.
type performed struct {
	Rollout
	cr    *cli.TargetSet
	rules rollout.Strategy // as declared
	mutex sync.Mutex
	last  map[string]round.Outcome // of the last task of each target, without successful checks
	// failed are the outcomes of tasks that failed on a target with contact, except rollbacks.
	failed map[string]round.Outcome
	closed map[string]bool // reasons for which targets wait for windows, which the user has seen
}
