package document

import "fettle.dev/fettle/internal/fleet"

// UserRequest creates a user, or changes the rights of a user.
type UserRequest struct {
	Name string `json:"name"`
	// Roles are read, operate, approve or admin. The role none, alone, gives no rights: the user has only grants.
	Roles []string `json:"roles"`
	// Locked locks the user out, with any login.
	Locked bool `json:"locked,omitempty"`
	// Groups are names that approval gates of rollouts can require.
	Groups []string `json:"groups,omitempty"`
	// Organization limits the user to an organization; "" is the whole fleet. If it is missing, it does not change, and a
	// new user gets the organization of the user of the request.
	Organization *string `json:"organization,omitempty"`
}

// User is a user of the hub.
type User struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Locked  bool     `json:"locked"`
	Changed int64    `json:"changed"`
	By      string   `json:"by"`
	Groups  []string `json:"groups,omitempty"`
	// Organization is "" for the whole fleet.
	Organization string `json:"organization,omitempty"`
	// Grants are roles for some targets of the organization.
	Grants []UserGrant `json:"grants,omitempty"`
}

// GrantRequest gives a user a role for some targets of the organization of the user, or ends such a grant.
type GrantRequest struct {
	Role string `json:"role"` // read or operate
	// Organization is the organization of the user, or an organization below it. If it is missing, it is the organization
	// of the user.
	Organization *string `json:"organization,omitempty"`
	// Labels are labels that targets must have.
	Labels map[string]string `json:"labels,omitempty"`
	// Targets are names or identities of targets. If there are any, the grant is only for these.
	Targets []string `json:"targets,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// UserGrant gives a user the rights of a role for some targets.
type UserGrant struct {
	Role string `json:"role"` // read or operate
	// Organization is "" for the whole fleet.
	Organization string            `json:"organization,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	// Targets are the targets of a grant for single targets. Other grants are for all targets with the labels.
	Targets []GrantTarget `json:"targets,omitempty"`
	Changed int64         `json:"changed,omitempty"`
	By      string        `json:"by,omitempty"`
	Reason  string        `json:"reason,omitempty"`
}

// GrantTarget names one of the targets for which a grant is.
type GrantTarget struct {
	ID fleet.TargetID `json:"id"`
	// Name is "" if the target no longer exists.
	Name string `json:"name,omitempty"`
}

// UserPage contains all users of the hub, sorted by name.
type UserPage struct {
	Format string `json:"format"`
	Users  []User `json:"users"`
}

// LoginRequest creates a login token for a user.
type LoginRequest struct {
	Expires int64  `json:"expires_ns,omitempty"` // 0 is 90 days
	Note    string `json:"note,omitempty"`
}

// WebLoginRequest creates a link that signs a browser in.
type WebLoginRequest struct {
	// User is the user of the session; "" is the user of the request. Only an admin may name another user.
	User string `json:"user,omitempty"`
}

// WebLogin contains a link that signs a browser in, once. No other answer contains its code.
type WebLogin struct {
	Format  string `json:"format"`
	User    string `json:"user"`
	Link    string `json:"link"`
	Expires int64  `json:"expires"` // of the link
}

// NewLogin contains the new token; no other answer does.
type NewLogin struct {
	Format  string `json:"format"`
	Name    string `json:"name"`
	ID      string `json:"id"`
	Expires int64  `json:"expires"`
	Secret  string `json:"secret"`
}

// Login describes a login token of a user, without the token itself, which no hub stores.
type Login struct {
	ID      string   `json:"id"` // how the token begins
	Roles   []string `json:"roles"`
	Made    int64    `json:"created"`
	By      string   `json:"by"`
	Expires int64    `json:"expires"`
	// Revoked is the time of the revocation, or 0.
	Revoked int64  `json:"revoked,omitempty"`
	Note    string `json:"note,omitempty"`
}

// LoginPage contains the login tokens of a user, the newest first.
type LoginPage struct {
	Format string  `json:"format"`
	Name   string  `json:"name"`
	Logins []Login `json:"logins"`
}
