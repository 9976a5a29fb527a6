package access

import (
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
)

// Hubs without organizations ignore the organization in a record. So the roles of users and tokens of an organization
// have another name in the record: such a hub gives them no rights.

// storedRoles returns the roles in a record: for the whole fleet, or within an organization.
func storedRoles(o fleet.Organization, roles []Role) (whole, within []Role) {
	if o == "" {
		return roles, nil
	}
	return []Role{}, roles
}

// rolesIn is the inverse of storedRoles. Roles for the whole fleet are ignored in a record with an organization.
func rolesIn(o fleet.Organization, whole, within []Role) []Role {
	if o == "" {
		return whole
	}
	return within
}

type (
	plainUser   User
	plainBearer Bearer

	userRecord struct {
		plainUser
		Within []Role `json:"organization_roles,omitempty"`
	}
	bearerRecord struct {
		plainBearer
		Within []Role `json:"organization_roles,omitempty"`
	}
)

// MarshalJSON returns the record of the user.
func (u User) MarshalJSON() ([]byte, error) {
	r := userRecord{plainUser: plainUser(u)}
	r.Roles, r.Within = storedRoles(u.Organization, u.Roles)
	return json.Marshal(r)
}

// UnmarshalJSON reads the record of a user.
func (u *User) UnmarshalJSON(b []byte) error {
	var r userRecord
	err := json.Unmarshal(b, &r)
	*u = User(r.plainUser)
	u.Roles = rolesIn(u.Organization, r.Roles, r.Within)
	return err
}

// MarshalJSON returns the record of the token.
func (b Bearer) MarshalJSON() ([]byte, error) {
	r := bearerRecord{plainBearer: plainBearer(b)}
	r.Roles, r.Within = storedRoles(b.Organization, b.Roles)
	return json.Marshal(r)
}

// UnmarshalJSON reads the record of a token.
func (b *Bearer) UnmarshalJSON(text []byte) error {
	var r bearerRecord
	err := json.Unmarshal(text, &r)
	*b = Bearer(r.plainBearer)
	b.Roles = rolesIn(b.Organization, r.Roles, r.Within)
	return err
}
