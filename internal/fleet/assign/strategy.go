package assign

import "fettle.dev/fettle/internal/lang/query"

// strategy returns the name of the strategy of a target that follows the fleet's branch. If a rollback replaced the
// root bundle, the root bundle that replaces it selects the strategy, unless it does not know the target.
func (c *computation) strategy(d *decision) string {
	head := c.in.Revisions[c.in.Refs[c.in.Branch].Commit]
	if conf, ok := rootOf(head, c.replacements).Targets[d.target.Name]; ok {
		return conf.Strategy
	}
	return head.Targets[d.target.Name].Strategy
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
