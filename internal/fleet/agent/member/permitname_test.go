package member

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// A permit counts for the name with which the host enrolled. A hub cannot choose the name.
func TestPermitForTheEnrolledName(t *testing.T) {
	as := fleet.Assigned{Module: "web", Revision: fleet.Revision{Repository: "site", Commit: "c0ffee"}, Permit: "permit"}
	c := claimOf("web1", fleet.Assignment{Name: "lab1", Labels: map[string]string{"role": "web"}}, as)
	if c.Target != "web1" || c.Permit != "permit" || c.Commit != "c0ffee" {
		t.Errorf("the permit is compared with %+v", c)
	}
}
