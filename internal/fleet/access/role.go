package access

import (
	"fmt"
	"slices"
	"strings"
)

// Right is the permission that a route needs. No user has the zero value.
type Right string

// The rights.
const (
	Read    Right = "read"    // see everything except secrets
	Operate Right = "operate" // change what targets do: pin, run, freeze
	Approve Right = "approve" // approve changes that other users request
	Admin   Right = "admin"   // tokens, users, and the members of the fleet
)

// Role is a named set of rights. The zero value is invalid.
type Role string

// The roles.
const (
	Reader   Role = "read"
	Operator Role = "operate"
	Approver Role = "approve"
	Admins   Role = "admin"
)

// Rights returns the rights of a role, and none for an unknown role.
func (r Role) Rights() []Right {
	switch r {
	case Reader:
		return []Right{Read}
	case Operator:
		return []Right{Read, Operate}
	case Approver:
		return []Right{Read, Approve}
	case Admins:
		return []Right{Read, Operate, Approve, Admin}
	}
	return nil
}

// CheckRoles returns an error for an unknown role or an empty list.
func CheckRoles(roles []Role) error {
	for _, r := range roles {
		if r.Rights() == nil {
			return fmt.Errorf("cannot give the role %.40q: use read, operate, approve or admin", string(r))
		}
	}
	if len(roles) == 0 {
		return fmt.Errorf("cannot set a user without a role: use read, operate, approve or admin")
	}
	return nil
}

// rightsOf returns the union of the rights of some roles.
func rightsOf(roles []Role) []Right {
	var out []Right
	for _, r := range roles {
		out = append(out, r.Rights()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// both returns the rights in both lists.
func both(a, b []Right) []Right {
	return slices.DeleteFunc(slices.Clone(a), func(r Right) bool { return !slices.Contains(b, r) })
}

// RolesOf parses roles separated by commas, such as read,approve.
func RolesOf(text string) ([]Role, error) {
	var out []Role
	for part := range strings.SplitSeq(text, ",") {
		out = append(out, Role(strings.TrimSpace(part)))
	}
	return out, CheckRoles(out)
}

// rolesWithin returns the roles that have only these rights, without roles that another one contains.
func rolesWithin(rights []Right) (out []Role) {
	for _, r := range []Role{Admins, Operator, Approver, Reader} {
		within := len(both(r.Rights(), rights)) == len(r.Rights())
		if within && len(both(r.Rights(), rightsOf(out))) < len(r.Rights()) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}
