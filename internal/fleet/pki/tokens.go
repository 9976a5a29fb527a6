package pki

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// CreateToken creates a token and stores its non-secret part. The caller shows the token once.
func (r *Registrar) CreateToken(ctx context.Context, terms Terms, by string) (Token, error) {
	authority, err := r.Hub.Authority()
	if err != nil {
		return Token{}, err
	}
	t, kept, err := NewToken(terms, DigestOf(authority), by, r.Now())
	if err != nil {
		return Token{}, err
	}
	if err := r.note(ctx, AuditRecord{By: by, Operation: "token",
		Text: fmt.Sprintf("made %s for %d uses", t, terms.Uses)}); err != nil {
		return Token{}, err
	}
	if err := store(ctx, r.Tokens, t.ID, kept, 0); err != nil {
		return Token{}, err
	}
	return t, nil
}

// WithdrawToken makes a token invalid. Hosts that have enrolled with it stay targets. If the token
// is withdrawn already, nothing changes, without an error.
func (r *Registrar) WithdrawToken(ctx context.Context, id, by string) error {
	for {
		t, err := load[StoredToken](ctx, r.Tokens, id)
		if err != nil {
			return err
		}
		if t.rev == 0 {
			return fmt.Errorf("cannot find the token %.40q: %w", id, fleet.ErrNotFound)
		}
		if t.value.Withdrawn != 0 {
			return nil
		}
		if err := r.note(ctx, AuditRecord{By: by, Operation: "token", Text: "withdrew " + id}); err != nil {
			return err
		}
		t.value.Withdrawn = r.Now().Unix()
		if err := store(ctx, r.Tokens, id, t.value, t.rev); !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}
