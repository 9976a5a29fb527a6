package organization

import (
	"bytes"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// TestShow: a user sees the limits of all organizations on the path, and what to do for a rollout that waits.
func TestShow(t *testing.T) {
	var out bytes.Buffer
	showOne(&cli.Printer{App: &cli.App{Stdout: &out}}, document.OrganizationDetail{
		Organization: document.Organization{Organization: "acme/search", Targets: 1, Users: 2, Approvals: 1},
		Upstream:     []document.Organization{{Organization: "acme", MaxUnavailable: "10%"}},
		Downstream:   []fleet.Organization{"acme/search/eu"},
		Waiting: []document.OrganizationRollout{{Rollout: "r3", Cause: "commit 4", Targets: 1, Need: 2,
			Rejected: &document.OrganizationRejection{By: "eve", Reason: "audit"}}},
	})
	const want = `acme/search: 1 target, 2 users
  Limits of acme: 10% unavailable at most
  Limits of acme/search: 1 approval
  Below: acme/search/eu
  The rollout r3 waits for 2 of 2 approvals, with 1 target: commit 4
    eve rejected it: audit
    fettle organization approve acme/search r3
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
