package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// UserName names a user of the hubs.
type UserName struct {
	User string `path:"user"`
}

// LoginID names a bearer token of a user.
type LoginID struct {
	User  string `path:"user"`
	Login string `path:"login"`
}

func ofUsers() []Row {
	return []Row{Users().Row, SetUser().Row, CreateLogin().Row, Logins().Row, RevokeLogin().Row,
		CreateWebLogin().Row, GrantRole().Row, EndGrant().Row}
}

// Users returns the users of the hubs.
func Users() (r Route[None, None, document.UserPage]) {
	return r.get(access.Admin, "/v1/users", "List the users and their rights").tenant()
}

// SetUser creates a user, or changes the roles of a user.
func SetUser() (r Route[None, document.UserRequest, document.Done]) {
	return r.post(access.Admin, "/v1/users", "Create a user, or change the rights of a user").tenant()
}

// GrantRole gives a user a role for some targets.
func GrantRole() (r Route[UserName, document.GrantRequest, document.Done]) {
	return r.post(access.Admin, "/v1/users/{user}/grants", "Give a user a role for some targets").tenant()
}

// EndGrant undoes GrantRole. The request has the same role and selection.
func EndGrant() (r Route[UserName, document.GrantRequest, document.Done]) {
	return r.post(access.Admin, "/v1/users/{user}/grants/remove",
		"End a grant of a user, with the same role and selection").tenant()
}

// CreateLogin creates a bearer token for a user.
func CreateLogin() (r Route[UserName, document.LoginRequest, document.NewLogin]) {
	return r.post(access.Admin, "/v1/users/{user}/login",
		"Create a login token for a user; only this answer contains it").tenant()
}

// Logins returns the bearer tokens of a user.
func Logins() (r Route[UserName, None, document.LoginPage]) {
	return r.get(access.Admin, "/v1/users/{user}/logins", "List the login tokens of a user, without the secrets").tenant()
}

// RevokeLogin revokes a bearer token.
func RevokeLogin() (r Route[LoginID, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/users/{user}/logins/{login}/revoke",
		"Revoke a login token of a user, at all hubs").tenant()
}

// CreateWebLogin creates a link that signs a browser in. Its right is read, because the session has at most the rights
// of the request. It concerns no target.
func CreateWebLogin() (r Route[None, document.WebLoginRequest, document.WebLogin]) {
	return r.post(access.Read, "/v1/web-logins", "Create a link that signs a browser in once").perTarget()
}
