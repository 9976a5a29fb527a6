package access

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

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

	rights []Right // for all targets of the organization
	grants []grantedRights
	groups []string
	moves  int // User.Moves; 0 without an entry in the store
}

// Groups returns the groups of the user. The caller must not change the result.
func (w Principal) Groups() []string { return w.groups }

// NewPrincipal returns a user whom the caller has authenticated by other means than a Gate; how
// describes these.
func NewPrincipal(name, how string, roles ...Role) Principal {
	return Principal{Name: name, Credential: how, rights: rightsOf(roles)}
}

// May reports whether the user has a right for the whole organization, or for the whole fleet without one.
func (w Principal) May(r Right) bool { return slices.Contains(w.rights, r) }

// Rights returns the rights of the user for the whole organization, sorted.
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

// Grants returns the roles of the user for some targets, within the rights of the credential. They have no user and no
// time.
func (w Principal) Grants() (out []Grant) {
	for _, g := range w.grants {
		for _, r := range rolesWithin(g.rights) {
			out = append(out, Grant{Role: r, TargetFilter: g.filter})
		}
	}
	return out
}

// MayOnSome reports whether the user has a right for the whole organization, or by a grant. Use it only for requests
// that are limited to Boundary.
func (w Principal) MayOnSome(r Right) bool {
	return slices.Contains(w.anywhere(), r)
}

// anywhere returns the rights for the whole organization and the rights of the grants, sorted.
func (w Principal) anywhere() []Right {
	all := slices.Clone(w.rights)
	for _, g := range w.grants {
		all = append(all, g.rights...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Boundary returns the targets for which the user has a right: all of the organization, or the targets of the grants.
// Without the right, it contains no target.
func (w Principal) Boundary(r Right) fleet.Boundary {
	b := fleet.Boundary{Organization: w.Organization}
	if w.May(r) {
		return b
	}
	b.Limited = true
	for _, g := range w.grants {
		if slices.Contains(g.rights, r) {
			b.Parts = append(b.Parts, g.filter)
		}
	}
	return b
}

// WithGrants returns the user with these grants, instead of the stored grants.
func (w Principal) WithGrants(grants ...Grant) Principal {
	w.grants = rightsOfGrants(grants)
	return w
}
