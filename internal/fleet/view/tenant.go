package view

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// within returns a condition for targets t within the boundary of a request.
func within(ctx context.Context) (text string, args []any) {
	b := fleet.BoundaryOf(ctx)
	var c condition
	c.addOrganization(b.Organization)
	if b.Limited {
		var parts condition
		for _, f := range b.Parts {
			var part condition
			part.addFilter(f)
			parts.add("("+strings.Join(part.text, " AND ")+")", part.args...)
		}
		// The inner query does not depend on the outer one, so SQLite evaluates it once.
		c.add("t.target IN (SELECT t.target FROM targets t WHERE "+
			strings.Join(append(parts.text, "0"), " OR ")+")", parts.args...)
	}
	return "(" + strings.Join(append(c.text, "1"), " AND ") + ")", c.args
}

// addOrganization limits targets t to an organization and those below it.
func (c *condition) addOrganization(of fleet.Organization) {
	if o := string(of); o != "" { // in the order of bytes, 0 follows /
		c.add("(t.organization = ? OR t.organization >= ? AND t.organization < ?)", o, o+"/", o+"0")
	}
}

// addFilter limits targets t to the selection of a filter.
func (c *condition) addFilter(f fleet.TargetFilter) {
	c.add("1")
	c.addOrganization(f.Organization)
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		c.add("EXISTS (SELECT 1 FROM json_each(t.doc, '$.labels') l WHERE l.key = ? AND l.value = ?)", name, f.Labels[name])
	}
	if len(f.Targets) > 0 {
		for _, id := range f.Targets {
			c.args = append(c.args, string(id))
		}
		c.text = append(c.text, "t.target IN (SELECT n FROM words WHERE text IN (?"+
			strings.Repeat(", ?", len(f.Targets)-1)+"))")
	}
}

// tenantKinds are the kinds of events of hubs that users with a part of the fleet see. Events of other kinds can
// contain names that organizations share, such as locks and rollouts.
func tenantKinds() []fleet.HubEventKind {
	return []fleet.HubEventKind{fleet.TargetEnrolled, fleet.Approved, fleet.Labelled, fleet.Pinned, fleet.Unpinned,
		fleet.TargetFrozen, fleet.TargetUnfrozen, fleet.TargetRetired, fleet.TargetRevoked, fleet.AssignmentIssued,
		fleet.Suspected, fleet.Trusted, fleet.ClockSkewed}
}
