package view

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// within returns a condition for targets t of the organization of the user of a request.
func within(ctx context.Context) (text string, args []any) {
	o := string(fleet.OrganizationOf(ctx))
	if o == "" {
		return "1", nil
	}
	// In the order of bytes, 0 follows /.
	return "(t.organization = ? OR t.organization >= ? AND t.organization < ?)", []any{o, o + "/", o + "0"}
}

// tenantKinds are the kinds of events of hubs that users of an organization see. Events of other kinds can contain
// names that organizations share, such as locks and rollouts.
func tenantKinds() []fleet.HubEventKind {
	return []fleet.HubEventKind{fleet.TargetEnrolled, fleet.Approved, fleet.Labelled, fleet.Pinned, fleet.Unpinned,
		fleet.TargetFrozen, fleet.TargetUnfrozen, fleet.TargetRetired, fleet.TargetRevoked, fleet.AssignmentIssued,
		fleet.Suspected, fleet.Trusted, fleet.ClockSkewed}
}
