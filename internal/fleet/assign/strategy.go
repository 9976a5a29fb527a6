package assign

import "fettle.dev/fettle/internal/lang/query"

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
