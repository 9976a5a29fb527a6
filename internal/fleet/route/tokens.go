package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// TokenID names a token with which hosts join.
type TokenID struct {
	Token string `path:"token"`
}

func ofTokens() []Row { return []Row{Tokens().Row, CreateToken().Row, RevokeToken().Row} }

// Tokens returns the stored tokens.
func Tokens() (r Route[None, None, document.TokenPage]) {
	return r.get(access.Admin, "/v1/tokens", "List the tokens for targets, without the secrets").tenant()
}

// CreateToken creates a token for enrolments.
func CreateToken() (r Route[None, document.TokenRequest, document.NewToken]) {
	return r.post(access.Admin, "/v1/tokens", "Create a token; only this answer contains it").tenant()
}

// RevokeToken revokes a token, so that no host can use it to join.
func RevokeToken() (r Route[TokenID, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/tokens/{token}/revoke", "Revoke a token").tenant()
}
