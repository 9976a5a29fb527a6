package records

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Content is the content of a part of an assignment: the digest of its bundle.
type Content struct {
	Part   string `json:"part"` // the root bundle is rollout.RootPart
	Digest string `json:"digest"`
}

// ContentsOf returns the contents of all parts of an assignment, sorted by part.
func ContentsOf(a fleet.Assignment) []Content {
	if a.Withdrawn != "" {
		return nil
	}
	out := []Content{{rollout.RootPart, a.Root.Bundle.Digest}}
	for _, m := range a.Modules {
		out = append(out, Content{m.Module, m.Bundle.Digest})
	}
	slices.SortFunc(out, func(a, b Content) int { return cmp.Compare(a.Part, b.Part) })
	return out
}
