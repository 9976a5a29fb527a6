package access

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// MaxGrants limits the grants of a user.
const MaxGrants = 50

// Grant is a role of a user for some targets of the organization of the user. It only adds rights to the roles of the
// user. A target belongs to it as long as the filter selects the target.
type Grant struct {
	Role Role `json:"role"` // Reader or Operator
	fleet.TargetFilter
	Changed int64  `json:"changed"` // seconds since 1970
	By      string `json:"by"`
	Reason  string `json:"reason,omitempty"`
}

// Check returns an error unless a user of an organization can have the grant. Roles that are not about single targets
// cannot be granted, and neither can a role for the whole organization: users have those as roles.
func (g Grant) Check(of fleet.Organization) error {
	switch {
	case g.Role != Reader && g.Role != Operator:
		return fmt.Errorf("cannot grant the role %.40q for some targets: use read or operate", string(g.Role))
	case !of.Contains(g.Organization):
		return fmt.Errorf("cannot grant a role in %.80q to a user of %q: it is outside of the organization of the user",
			string(g.Organization), string(of))
	case g.Organization == of && len(g.Labels) == 0 && len(g.Targets) == 0:
		return fmt.Errorf("cannot grant a role without a selection: it would be for all targets of the user")
	}
	return g.TargetFilter.Check()
}

// Equal reports whether two grants give the same role for the same selection.
func (g Grant) Equal(h Grant) bool { return g.Role == h.Role && g.TargetFilter.Equal(h.TargetFilter) }

// grantedRights are rights for some targets.
type grantedRights struct {
	filter fleet.TargetFilter
	rights []Right
}

func rightsOfGrants(grants []Grant) (out []grantedRights) {
	for _, g := range grants {
		out = append(out, grantedRights{g.TargetFilter, g.Role.Rights()})
	}
	return out
}

// limited returns grants without the rights that are not in a list.
func limited(grants []grantedRights, to []Right) (out []grantedRights) {
	for _, g := range grants {
		out = append(out, grantedRights{g.filter, both(g.rights, to)})
	}
	return out
}
