package cli

import (
	"context"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/round"
)

// Visit performs an operation on one target. Several goroutines can visit different targets at the same time.
func (cr *TargetSet) Visit(ctx context.Context, name string,
	one func(context.Context, *Member, executor.Executor) round.Outcome) round.Outcome {
	return cr.on(ctx, cr.members[name], one)
}
