package fleet

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/amount"
)

// Limits are the limits that the repository declares for changes of the targets of an organization and of the
// organizations below it.
type Limits struct {
	Organization Organization `json:"organization"`
	Freeze       string       `json:"freeze,omitempty"` // the reason, or ""
	// MaxUnavailable limits the targets that rollouts make unavailable at the same time. The zero value sets no limit.
	MaxUnavailable amount.Amount `json:"max_unavailable,omitzero"`
	// Approvals is the number of users who must approve each rollout for the organization.
	Approvals int `json:"approvals,omitempty"`
}

// OfRollouts reports whether any of the limits is for rollouts.
func (l Limits) OfRollouts() bool { return l.Approvals > 0 || l.MaxUnavailable.Number > 0 }

// Path returns the organizations that contain this one, from the top to this one. The whole fleet has none.
func (o Organization) Path() (out []Organization) {
	for i, c := range o {
		if c == '/' {
			out = append(out, o[:i])
		}
	}
	if o != "" {
		out = append(out, o)
	}
	return out
}

// Upstream returns the limits that apply to the targets of an organization, from the top to the organization
// itself.
func Upstream(all []Limits, o Organization) (out []Limits) {
	for _, l := range all {
		if l.Organization.Contains(o) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Limits) int { return strings.Compare(string(a.Organization), string(b.Organization)) })
	return out
}
