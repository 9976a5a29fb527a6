package document

import "fettle.dev/fettle/internal/fleet"

// The formats of organizations.
const (
	OrganizationPageFormat = "fettle.fleet.organizations/1"
	OrganizationFormat     = "fettle.fleet.organization/1"
)

// OrganizationPage lists organizations, sorted by path.
type OrganizationPage struct {
	Format        string         `json:"format"`
	Organizations []Organization `json:"organizations"`
}

// Organization is an organization with its own limits. Its counts include the organizations below it.
type Organization struct {
	Organization fleet.Organization `json:"organization"`
	Targets      int                `json:"targets"` // active ones
	Users        int                `json:"users"`
	// Freeze is the freeze that a user ordered, and DeclaredFreeze the reason of the freeze of the repository.
	Freeze         *FleetFreeze `json:"freeze,omitempty"`
	DeclaredFreeze string       `json:"declared_freeze,omitempty"`
	// MaxUnavailable is a number or a percentage of targets, "" for no limit. Approvals is the number of users who must
	// approve each rollout.
	MaxUnavailable string `json:"max_unavailable,omitempty"`
	Approvals      int    `json:"approvals,omitempty"`
}

// OrganizationDetail is an organization with the organizations on its path, and with the rollouts that wait for
// approvals.
type OrganizationDetail struct {
	Format       string       `json:"format"`
	Organization Organization `json:"organization"`
	// Upstream are the organizations that contain it, from the top. Their limits apply, too. If the user is not an
	// operator of the fleet, organizations above the organization of the user have no counts.
	Upstream []Organization `json:"upstream"`
	// Downstream are all organizations below it, sorted.
	Downstream []fleet.Organization  `json:"downstream"`
	Waiting    []OrganizationRollout `json:"waiting"`
}

// OrganizationRollout is a rollout that needs approvals for an organization.
type OrganizationRollout struct {
	Rollout   string         `json:"rollout"`
	Cause     string         `json:"cause"`
	Targets   int            `json:"targets"` // of the organization, without the change
	Need      int            `json:"need"`
	Approvals []GateApproval `json:"approvals"`
	// Rejected is the rejection after which no user approved it for the organization, or nil.
	Rejected *OrganizationRejection `json:"rejected,omitempty"`
}

// OrganizationRejection is the rejection of a rollout for an organization.
type OrganizationRejection struct {
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
	Reason string `json:"reason"`
}

// OrganizationApprovalRequest is the consent of a user to a rollout for an organization, or the rejection, which needs
// a reason.
type OrganizationApprovalRequest struct {
	Rollout string `json:"rollout"`
	Reason  string `json:"reason,omitempty"`
}
