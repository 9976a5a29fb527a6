package api

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Tokens are the tokens with which hosts join.
type Tokens interface {
	CreateToken(ctx context.Context, by access.Principal, r document.TokenRequest) (document.NewToken, error)
	Tokens(ctx context.Context) ([]document.Token, error)
	RevokeToken(ctx context.Context, by access.Principal, id string) error
}

// HandleTokens registers the handlers of tokens.
func HandleTokens(t *Table, b Tokens) {
	handleGet(t, route.Tokens(), func(ctx context.Context) (document.TokenPage, error) {
		all, err := b.Tokens(ctx)
		return document.TokenPage{Format: document.TokenPageFormat, Tokens: append([]document.Token{}, all...)}, err
	})
	handlePost(t, route.CreateToken(),
		func(ctx context.Context, c Caller, r document.TokenRequest) (document.NewToken, error) {
			if err := checkToken(r); err != nil {
				return document.NewToken{}, err
			}
			token, err := b.CreateToken(ctx, c.Principal, r)
			token.Format = document.NewTokenFormat
			return token, err
		})
	Handle(t, route.RevokeToken(),
		func(ctx context.Context, c Caller, at route.TokenID, _ document.ReasonRequest) (document.Done, error) {
			return done(b.RevokeToken(ctx, c.Principal, at.Token), "Token %s is revoked.", at.Token)
		})
}

func checkToken(r document.TokenRequest) error {
	if err := fleet.CheckLabels(r.Labels); err != nil {
		return &Refusal{http.StatusBadRequest, err.Error(), "Write labels as KEY=VALUE"}
	}
	if r.Uses < 0 || r.Expires < 0 {
		return &Refusal{http.StatusBadRequest,
			"cannot create a token with a negative number of uses, or a token that has already expired",
			"Omit them, or use larger values"}
	}
	return nil
}
