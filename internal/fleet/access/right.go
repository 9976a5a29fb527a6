package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
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

// Groups returns the groups of the user. The caller must not change the result.
func (w Principal) Groups() []string { return w.groups }

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

// Principal is an authenticated user. The zero value is invalid.
type Principal struct {
	Name string
	// Credential describes the credential for the audit log: "token fettle-api-abcdefgh", "certificate 1f…",
	// "oidc https://…", "socket". It contains no secret.
	Credential string
	// Expires is the end of the login, and of streams that it opened; zero means no end.
	Expires time.Time
	// Unconfirmed means that the rights come from the last known record, because the store does not
	// answer. Then they include at most read.
	Unconfirmed bool
	// Login is the ID of the login token of the request, "" for other credentials. Session means that the token is the
	// session of a browser.
	Login   string
	Session bool
	// Organization limits the user to an organization; "" means the whole fleet.
	Organization fleet.Organization

	rights []Right
	groups []string
	moves  int // User.Moves; 0 without an entry in the store
}

// NewPrincipal returns a user whom the caller has authenticated by other means than a Gate; how
// describes these.
func NewPrincipal(name, how string, roles ...Role) Principal {
	return Principal{Name: name, Credential: how, rights: rightsOf(roles)}
}

// May reports whether the user has a right.
func (w Principal) May(r Right) bool { return slices.Contains(w.rights, r) }

// Rights returns all rights of the user, sorted.
func (w Principal) Rights() []Right { return slices.Sorted(slices.Values(w.rights)) }

// String returns the name and the credential, for messages.
func (w Principal) String() string {
	if w.Name == "" {
		return "no user"
	}
	return w.Name + " (" + w.Credential + ")"
}

// root returns the user of the socket that only root can open.
func root() Principal { return NewPrincipal("root", "socket", Admins) }

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
