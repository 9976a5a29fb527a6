package users

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// DefaultTokenLife is the default validity of a token.
const DefaultTokenLife = time.Hour

// HandleRoutes registers the handlers of tokens with which hosts join, of users, and of their logins.
func (a *Accounts) HandleRoutes(t *api.Table) {
	api.Handle(t, route.Tokens(), a.Tokens)
	api.HandlePost(t, route.CreateToken(), a.CreateToken)
	api.HandleDone(t, route.RevokeToken(), "Token {token} is revoked.", a.RevokeToken)
	api.Handle(t, route.Users(), a.Users)
	api.HandlePost(t, route.SetUser(), a.SetUser)
	api.Handle(t, route.CreateLogin(), a.CreateLogin)
	api.Handle(t, route.Logins(), a.Logins)
	api.HandleDone(t, route.RevokeLogin(), "The login token {login} of {user} is revoked.", a.RevokeLogin)
	api.HandlePost(t, route.CreateWebLogin(), a.CreateWebLogin)
	api.Handle(t, route.GrantRole(), a.GrantRole)
	api.Handle(t, route.EndGrant(), a.EndGrant)
}

// CreateToken creates a token for targets or hubs. Only the answer contains its secret.
func (a *Accounts) CreateToken(ctx context.Context, by api.Caller,
	r document.TokenRequest) (document.NewToken, error) {
	if err := checkToken(r); err != nil {
		return document.NewToken{}, err
	}
	of := cmp.Or(fleet.Organization(r.Organization), by.Organization)
	if err := checkTenantToken(by, of, &r); err != nil {
		return document.NewToken{}, err
	}
	if err := a.CheckHubToken(r); err != nil {
		return document.NewToken{}, err
	}
	if err := a.checkFleet(r.Fleet); err != nil {
		return document.NewToken{}, err
	}
	life := cmp.Or(time.Duration(r.Expires), DefaultTokenLife)
	terms := pki.Terms{Fleet: r.Fleet, Organization: of, Labels: r.Labels, Names: r.Names, Networks: r.Network,
		Uses: cmp.Or(r.Uses, 1), Expires: a.Now().Add(life).Unix(), Approve: r.Approve, Note: r.Note, Hub: r.Hub}
	if err := terms.Check(a.Now()); err != nil {
		return document.NewToken{}, &api.Refusal{Status: api.BadRequest, Why: err.Error()}
	}
	authority, err := a.Keys.Authority()
	if err != nil {
		return document.NewToken{}, err
	}
	token, stored, err := pki.NewToken(terms, pki.DigestOf(authority), by.Name, a.Now())
	if err != nil {
		return document.NewToken{}, err
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return document.NewToken{}, err
	}
	if _, err := a.Records.Buckets["tokens"].Update(ctx, stored.ID, text, 0); err != nil {
		return document.NewToken{}, fmt.Errorf("cannot store the token: %w", err)
	}
	return document.NewToken{Format: document.NewTokenFormat, Token: tokenDoc(stored), Secret: token.Text()}, nil
}

func checkToken(r document.TokenRequest) error {
	if err := fleet.CheckLabels(r.Labels); err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(), Hint: "Write labels as KEY=VALUE"}
	}
	if r.Uses < 0 || r.Expires < 0 {
		return &api.Refusal{Status: api.BadRequest, Hint: "Omit them, or use larger values",
			Why: "cannot create a token with a negative number of uses, or a token that has already expired"}
	}
	return nil
}

// checkTenantToken checks a token of an organization, and makes it need an approval if an admin of an organization
// creates it. Names and labels select the modules and secrets of a target, so only the operators of the fleet decide
// about them.
func checkTenantToken(by api.Caller, of fleet.Organization, r *document.TokenRequest) error {
	if err := within(by, of); err != nil || by.Organization == "" {
		return err
	}
	if r.Hub || len(r.Labels) > 0 {
		return &api.Refusal{Status: 403, Why: "cannot create a token for a hub, or with labels, as a user of an organization",
			Hint: "Omit the labels, or ask an operator of the fleet for the token"}
	}
	r.Approve = true
	return nil
}

// checkFleet refuses a token for another fleet: a hub serves only one.
func (a *Accounts) checkFleet(name string) error {
	if name == "" || name == a.Fleet {
		return nil
	}
	return &api.Refusal{Status: api.BadRequest,
		Why:  fmt.Sprintf("cannot create a token for the fleet %.60q: this hub only serves the fleet %q", name, a.Fleet),
		Hint: "Omit the fleet. To separate environments, use labels such as --label env=prod"}
}

func tokenDoc(t pki.StoredToken) document.Token {
	return document.Token{ID: t.ID, Fleet: t.Fleet, Labels: t.Labels, Names: t.Names, Uses: t.Uses,
		Used: len(t.TokenUses), Created: t.Created * 1e9,
		Expires: t.Expires * 1e9, By: t.By, Approve: t.Approve, Revoked: t.Withdrawn > 0, Network: t.Networks,
		Note: t.Note, Hub: t.Hub, Organization: string(t.Organization)}
}

// Tokens returns the stored tokens of the organization of the caller, the newest first.
func (a *Accounts) Tokens(ctx context.Context, c api.Caller, _, _ route.None) (document.TokenPage, error) {
	out := document.TokenPage{Format: document.TokenPageFormat, Tokens: []document.Token{}}
	entries, err := a.Records.Tokens.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		var t pki.StoredToken
		if err := json.Unmarshal(e.Value, &t); err != nil {
			return out, fmt.Errorf("cannot read the token %s: %w", e.Key, err)
		}
		if c.Organization.Contains(t.Organization) {
			out.Tokens = append(out.Tokens, tokenDoc(t))
		}
	}
	slices.SortFunc(out.Tokens, func(a, b document.Token) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RevokeToken revokes a token. Targets that enrolled with it stay in the fleet.
func (a *Accounts) RevokeToken(ctx context.Context, c api.Caller, at route.TokenID, _ document.ReasonRequest) error {
	store := a.Records.Buckets["tokens"]
	for {
		e, err := store.Get(ctx, at.Token)
		var t pki.StoredToken
		if err == nil {
			err = json.Unmarshal(e.Value, &t)
		}
		if errors.Is(err, fleet.ErrNotFound) || err == nil && !c.Organization.Contains(t.Organization) {
			return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the token %.40q", at.Token),
				Hint: "List the tokens: fettle token list"}
		}
		if err != nil {
			return err
		}
		if t.Withdrawn > 0 {
			return nil
		}
		t.Withdrawn = a.Now().Unix()
		text, err := json.Marshal(t)
		if err == nil {
			_, err = store.Update(ctx, at.Token, text, e.Rev)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// PruneTokens removes tokens that have been unusable for the time of Retention.Events. The registry
// contains the token of each target that enrolled with it.
func (a *Accounts) PruneTokens(ctx context.Context) error {
	store := a.Records.Tokens.Store
	entries, err := store.All(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var t pki.StoredToken
		if json.Unmarshal(e.Value, &t) != nil {
			continue // written by a newer hub
		}
		over := t.Expires
		if t.Withdrawn > 0 {
			over = min(over, t.Withdrawn)
		}
		if a.Now().Sub(time.Unix(over, 0)) < a.Keep {
			continue
		}
		if err := store.Delete(ctx, e.Key, e.Rev); err != nil && !errors.Is(err, fleet.ErrConflict) &&
			!errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return nil
}
