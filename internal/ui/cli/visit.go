package cli

import (
	"context"
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/round"
)

// Visit performs an operation on one target. Several goroutines can visit different targets at the same time.
func (cr *TargetSet) Visit(ctx context.Context, name string,
	one func(context.Context, *Member, executor.Executor) round.Outcome) round.Outcome {
	return cr.on(ctx, cr.members[name], one)
}

// GivenVariables returns the variables of the command line, "NAME=VALUE", sorted.
func (s *Session) GivenVariables() []string { return slices.Sorted(slices.Values(s.vars)) }

// Labels returns the labels of the targets, by name.
func (cr *TargetSet) Labels() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, m := range cr.members {
		out[name] = m.Entry.Labels
	}
	return out
}
