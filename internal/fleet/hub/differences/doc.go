// Package differences compares the present configuration of the targets with their configuration at a commit, before
// targets apply it.
//
//	s := differences.New(differences.Config{Compiler: newCompiler, Decide: leader.Decide, …})
//	d, err := s.CommitDifferences(ctx, "my-branch")
//
// The commit can be any commit, branch, tag or other ref of the repository that the fleet follows. A clone of its own
// has the commits that the hub does not follow. Nothing of them is executed, and they do not change assignments.
//
// The hub compiles in a child process, which ends with the request. One comparison runs at a time. A target without a
// reported fact that the configuration uses, and a target whose lists cannot be compiled, are failed targets. Targets
// that the hub did not compile before the time limit are not compared. Results are cached: the same request costs
// nothing until the commit, an assignment, a label or a fact changes. A request may be repeated or interrupted at any
// point.
package differences

import (
	"context"
	"iter"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/repo"
)

// Compiler compiles lists of targets. *limited.Pool implements it.
type Compiler interface {
	compile.Answerer
	// Diff compares the lists of targets at two trees, some at a time and in their order.
	Diff(before repo.Tree, in compile.Input, targets []compile.Compared) iter.Seq2[[]compile.Difference, diag.List]
	Close()
}

// Config contains the parts of a hub that a Service uses.
type Config struct {
	// Dir is the directory of the clone.
	Dir string
	// Compiler returns a compiler for one request, which ends with its context. nil means that this hub cannot compare.
	Compiler func(context.Context) Compiler
	Records  *records.Table
	Content  *content.Store
	// Repository returns the repository that the fleet follows. Its URL is "" if there is none.
	Repository func() records.Repository
	// Decide returns the rollouts that a compiled commit would cause, and the assignments that it desires.
	Decide func(context.Context, assign.Compiled, fleet.Revision) (document.RolloutPlan, []assign.Desired, error)
	// Facts returns the facts in the newest reports of the targets.
	Facts func(context.Context) (map[fleet.TargetID]map[string]string, error)
	Now   func() time.Time
	// Timeout limits the time for one request; 0 means 25 seconds.
	Timeout time.Duration
}
