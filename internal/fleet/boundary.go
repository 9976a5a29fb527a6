package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxFilterTargets limits the identities in a TargetFilter.
const maxFilterTargets = 200

// TargetFilter selects targets of an organization and of the organizations below it: with all the labels and, unless
// Targets is empty, with one of the identities. Only labels in the registry count, which tokens and operators set.
// Names do not count, because hosts choose them.
type TargetFilter struct {
	Organization Organization      `json:"organization,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Targets      []TargetID        `json:"targets,omitempty"`
}

// Contains reports whether the filter selects a target.
func (f TargetFilter) Contains(t Target) bool {
	for name, value := range f.Labels {
		if has, ok := t.Labels[name]; !ok || has != value {
			return false
		}
	}
	return f.Organization.Contains(t.Organization) && (len(f.Targets) == 0 || slices.Contains(f.Targets, t.ID))
}

// Check returns an error unless the filter is valid.
func (f TargetFilter) Check() error {
	if err := errors.Join(f.Organization.Check(), CheckLabels(f.Labels)); err != nil {
		return err
	}
	if len(f.Targets) > maxFilterTargets {
		return fmt.Errorf("cannot select %d targets by name: the limit is %d. Give them a label", len(f.Targets),
			maxFilterTargets)
	}
	for _, id := range f.Targets {
		if _, err := ParseTargetID(string(id)); err != nil {
			return err
		}
	}
	return nil
}

// Equal reports whether two filters have the same fields. The order of targets does not matter.
func (f TargetFilter) Equal(g TargetFilter) bool {
	sorted := func(ids []TargetID) []TargetID { return slices.Compact(slices.Sorted(slices.Values(ids))) }
	return f.Organization == g.Organization && maps.Equal(f.Labels, g.Labels) &&
		slices.Equal(sorted(f.Targets), sorted(g.Targets))
}

// Boundary contains the targets that a request may use: the targets of an organization. If it is limited, one of the
// parts must also select them. Without parts, a limited boundary contains no target. The zero value contains all
// targets of the fleet.
type Boundary struct {
	Organization Organization
	Limited      bool
	Parts        []TargetFilter
}

// All reports whether the boundary contains all targets, of every organization.
func (b Boundary) All() bool { return b.Organization == "" && !b.Limited }

// Contains reports whether a request may use a target.
func (b Boundary) Contains(t Target) bool {
	return b.Organization.Contains(t.Organization) &&
		(!b.Limited || slices.ContainsFunc(b.Parts, func(f TargetFilter) bool { return f.Contains(t) }))
}

// Equal reports whether two boundaries are written in the same way. Then they contain the same targets.
func (b Boundary) Equal(c Boundary) bool {
	return b.Organization == c.Organization && b.Limited == c.Limited &&
		slices.EqualFunc(b.Parts, c.Parts, TargetFilter.Equal)
}

type boundaryKey struct{}

// WithBoundary returns a context for a request. Queries about targets, modules, events and jobs with this context only
// use what the boundary contains.
func WithBoundary(ctx context.Context, b Boundary) context.Context {
	return context.WithValue(ctx, boundaryKey{}, b)
}

// BoundaryOf returns the boundary of a request. A context without a boundary is of the hub itself, and contains all
// targets.
func BoundaryOf(ctx context.Context) Boundary {
	b, _ := ctx.Value(boundaryKey{}).(Boundary)
	return b
}

// WithOrganization returns a context with a boundary around all targets of an organization.
func WithOrganization(ctx context.Context, o Organization) context.Context {
	return WithBoundary(ctx, Boundary{Organization: o})
}
