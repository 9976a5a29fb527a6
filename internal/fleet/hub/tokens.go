package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// DefaultTokenLife is the default validity of a token.
const DefaultTokenLife = time.Hour

// CreateToken creates a token for targets or hubs. Only the answer contains its secret.
func (h *Hub) CreateToken(ctx context.Context, by access.Principal, r document.TokenRequest) (document.NewToken, error) {
	if err := h.checkHubToken(r); err != nil {
		return document.NewToken{}, err
	}
	if err := h.checkFleet(r.Fleet); err != nil {
		return document.NewToken{}, err
	}
	life := cmp.Or(time.Duration(r.Expires), DefaultTokenLife)
	terms := pki.Terms{Fleet: r.Fleet, Labels: r.Labels, Names: r.Names, Networks: r.Network, Uses: cmp.Or(r.Uses, 1), Expires: h.now().Add(life).Unix(), Approve: r.Approve, Note: r.Note, Hub: r.Hub}
	if err := terms.Check(h.now()); err != nil {
		return document.NewToken{}, &api.Refusal{Status: http.StatusBadRequest, Why: err.Error()}
	}
	authority, err := h.keys.Authority()
	if err != nil {
		return document.NewToken{}, err
	}
	token, stored, err := pki.NewToken(terms, pki.DigestOf(authority), by.Name, h.now())
	if err != nil {
		return document.NewToken{}, err
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return document.NewToken{}, err
	}
	if _, err := h.stores["tokens"].Update(ctx, stored.ID, text, 0); err != nil {
		return document.NewToken{}, fmt.Errorf("cannot store the token: %w", err)
	}
	return document.NewToken{Format: document.NewTokenFormat, Token: tokenDoc(stored), Secret: token.Text()}, nil
}

// checkFleet refuses a token for another fleet: a hub serves only one.
func (h *Hub) checkFleet(name string) error {
	if name == "" || name == h.set.Fleet {
		return nil
	}
	return &api.Refusal{Status: http.StatusBadRequest,
		Why:  fmt.Sprintf("cannot create a token for the fleet %.60q: this hub only serves the fleet %q", name, h.set.Fleet),
		Hint: "Omit the fleet. To separate environments, use labels such as --label env=prod"}
}

func tokenDoc(t pki.StoredToken) document.Token {
	return document.Token{ID: t.ID, Fleet: t.Fleet, Labels: t.Labels, Names: t.Names, Uses: t.Uses,
		Used: len(t.TokenUses), Created: t.Created * 1e9,
		Expires: t.Expires * 1e9, By: t.By, Approve: t.Approve, Revoked: t.Withdrawn > 0, Network: t.Networks, Note: t.Note, Hub: t.Hub}
}

// Tokens returns the stored tokens, the newest first.
func (h *Hub) Tokens(ctx context.Context) ([]document.Token, error) {
	entries, err := h.tokens.entries(ctx)
	if err != nil {
		return nil, err
	}
	out := []document.Token{}
	for _, e := range entries {
		var t pki.StoredToken
		if err := json.Unmarshal(e.Value, &t); err != nil {
			return nil, fmt.Errorf("cannot read the token %s: %w", e.Key, err)
		}
		out = append(out, tokenDoc(t))
	}
	slices.SortFunc(out, func(a, b document.Token) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RevokeToken revokes a token. Targets that enrolled with it stay in the fleet.
func (h *Hub) RevokeToken(ctx context.Context, _ access.Principal, id string) error {
	store := h.stores["tokens"]
	for {
		e, err := store.Get(ctx, id)
		if errors.Is(err, fleet.ErrNotFound) {
			return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the token %.40q", id),
				Hint: "List the tokens: fettle token list"}
		}
		if err != nil {
			return err
		}
		var t pki.StoredToken
		if err := json.Unmarshal(e.Value, &t); err != nil {
			return err
		}
		if t.Withdrawn > 0 {
			return nil
		}
		t.Withdrawn = h.now().Unix()
		text, err := json.Marshal(t)
		if err == nil {
			_, err = store.Update(ctx, id, text, e.Rev)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}
