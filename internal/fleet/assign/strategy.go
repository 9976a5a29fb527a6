package assign

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// DeclaredLimits returns the limits of organizations that the head of the branch declares, also if an operator rolled
// the fleet back. If the head is unusable, the last known limits remain in force.
func (in Input) DeclaredLimits() []fleet.Limits {
	if head, ok := in.Revisions[in.Refs[in.Branch].Commit]; ok && head.Error == "" {
		return head.Limits
	}
	return in.Limits
}

// Strategies returns the strategies that the desired root bundle of the branch declares.
func (in Input) Strategies() []query.Strategy {
	head := in.Revisions[in.Refs[in.Branch].Commit]
	if len(in.Replacements) == 0 {
		return head.Strategies
	}
	return rootOf(head, readReplacements(in, &alarms{})).Strategies
}

// rootOf returns the revision of the desired root bundle: the head of the branch, or the revision that replaces it.
func rootOf(head Contents, by map[heldKey]replaced) Contents {
	if r, ok := by[heldKey{RootPart, head.Root.Digest}]; ok && r.why == "" {
		return r.with
	}
	return head
}
