package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// OrganizationName names an organization by its path.
type OrganizationName struct {
	Organization string `path:"organization"`
}

func ofOrganizations() []Row {
	return []Row{Organizations().Row, Organization().Row, FreezeOrganization().Row, UnfreezeOrganization().Row,
		ApproveOrganization().Row, RejectOrganization().Row}
}

// Organizations lists the organizations that the user sees.
func Organizations() (r Route[None, None, document.OrganizationPage]) {
	return r.get(access.Read, "/v1/organizations", "List organizations with their limits").tenant()
}

// Organization shows one organization.
func Organization() (r Route[OrganizationName, None, document.OrganizationDetail]) {
	return r.get(access.Read, "/v1/organizations/{organization}",
		"Show an organization with its limits and waiting rollouts; write a / in its path as %2F").tenant()
}

// FreezeOrganization freezes the targets of an organization, also targets that join later.
func FreezeOrganization() (r Route[OrganizationName, document.FreezeRequest, document.Done]) {
	return r.post(access.Operate, "/v1/organizations/{organization}/freeze",
		"Freeze all targets of an organization, including targets that join later").tenant()
}

// UnfreezeOrganization undoes FreezeOrganization.
func UnfreezeOrganization() (r Route[OrganizationName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/organizations/{organization}/unfreeze",
		"End the freeze of an organization; other freezes remain").tenant()
}

// ApproveOrganization approves a rollout for an organization.
func ApproveOrganization() (r Route[OrganizationName, document.OrganizationApprovalRequest, document.Done]) {
	return r.post(access.Approve, "/v1/organizations/{organization}/approve",
		"Approve a rollout for the targets of an organization").tenant()
}

// RejectOrganization rejects a rollout for an organization.
func RejectOrganization() (r Route[OrganizationName, document.OrganizationApprovalRequest, document.Done]) {
	return r.post(access.Approve, "/v1/organizations/{organization}/reject",
		"Reject a rollout for the targets of an organization; its approvals no longer count").tenant()
}
