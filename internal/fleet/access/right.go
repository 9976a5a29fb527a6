package access

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Right is what a route asks for. The zero value is none, which nobody has.
type Right string

// The rights.
const (
	Read    Right = "read"    // see everything but secrets
	Operate Right = "operate" // change what targets do: pin, run, freeze
	Approve Right = "approve" // agree to what others ask for
	Admin   Right = "admin"   // tokens, people, who is in the fleet
)

// Role is what people are given: a name for some rights. The zero value is none.
type Role string

// The roles.
const (
	Reader   Role = "read"
	Operator Role = "operate"
	Approver Role = "approve"
	Admins   Role = "admin"
)

// Rights are what a role gives, nothing for one that is not known.
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

// CheckRoles says what is wrong with some roles.
func CheckRoles(roles []Role) error {
	for _, r := range roles {
		if r.Rights() == nil {
			return fmt.Errorf("cannot give the role %.40q: there are read, operate, approve and admin", string(r))
		}
	}
	if len(roles) == 0 {
		return fmt.Errorf("cannot give no role: there are read, operate, approve and admin")
	}
	return nil
}

// Who is somebody who has proved it. The zero value is nobody.
type Who struct {
	Name string
	// How they proved it, for the audit log: "token fettle-api-abcdefgh", "certificate
	// 1f…", "oidc https://…", "socket". It holds no secret.
	How string
	// Until is when the proof ends, and with it all that was opened with it; zero has no end.
	Until time.Time
	// Unconfirmed tells that the rights come from the last known record, because the store does
	// not answer. They are reduced to reading.
	Unconfirmed bool

	rights []Right
}

// Somebody is who has proved it to the caller, by other means than a Gate: how says by
// which.
func Somebody(name, how string, roles ...Role) Who {
	return Who{Name: name, How: how, rights: rightsOf(roles)}
}

// May tells whether they have a right.
func (w Who) May(r Right) bool { return slices.Contains(w.rights, r) }

// Rights are all that they have, sorted.
func (w Who) Rights() []Right { return slices.Sorted(slices.Values(w.rights)) }

// String is for people.
func (w Who) String() string {
	if w.Name == "" {
		return "nobody"
	}
	return w.Name + " (" + w.How + ")"
}

// root is whoever comes by the socket that only root can open.
func root() Who { return Somebody("root", "socket", Admins) }

// rightsOf is what some roles give together.
func rightsOf(roles []Role) []Right {
	var out []Right
	for _, r := range roles {
		out = append(out, r.Rights()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// both is what is in both.
func both(a, b []Right) []Right {
	return slices.DeleteFunc(slices.Clone(a), func(r Right) bool { return !slices.Contains(b, r) })
}

// RolesOf reads roles as a person writes them: read,approve.
func RolesOf(text string) ([]Role, error) {
	var out []Role
	for part := range strings.SplitSeq(text, ",") {
		out = append(out, Role(strings.TrimSpace(part)))
	}
	return out, CheckRoles(out)
}
