package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// known is the source of a record of a user or token.
type known int

const (
	// absent is a record that does not exist.
	absent known = iota
	// current is a record from the store.
	current
	// stale is a record from the memory of this hub, because the store does not answer.
	stale
)

// storePatience limits the time to wait for the store before the last known record is used. A
// request to a hub without a quorum must be answered within seconds.
const storePatience = 3 * time.Second

// load reads a record of the store of users, or the last known one if the store does not answer.
func load[T any](ctx context.Context, g *Gate, key string) (v T, is known, err error) {
	once, stop := context.WithTimeout(ctx, storePatience)
	e, err := g.Users.Get(once, key)
	stop()
	is = current
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return v, absent, nil
	case errors.Is(err, fleet.ErrNoAnswer) && g.Last != nil && ctx.Err() == nil:
		value, ok := g.Last(key)
		if !ok {
			return v, absent, fmt.Errorf("cannot authenticate now: %w", err)
		}
		is, e.Value, err = stale, value, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &v)
	}
	if err != nil {
		return v, absent, fmt.Errorf("cannot read %s of the store of users: %w", key, err)
	}
	return v, is, nil
}

// knownAs removes all rights except read if the record is stale: another hub may have revoked them.
func (w Principal) knownAs(is known) Principal {
	if is != stale {
		return w
	}
	w.Unconfirmed = true
	w.rights = both(w.rights, []Right{Read})
	w.grants = limited(w.grants, []Right{Read})
	return w
}
