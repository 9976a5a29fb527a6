package hub

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// lastKnown is a bucket that is read from the store, and from this hub's memory while the store
// does not answer. A hub without a quorum can still show these entries.
type lastKnown struct {
	store fleet.Store
	away  func() error // an error while most hubs are away
	*mirror[[]byte]
}

func newLastKnown(s fleet.Store, away func() error) lastKnown {
	return lastKnown{s, away, newMirror(s, "", raw)}
}

// Get implements access.Records. It does not wait for a store that cannot answer.
func (l lastKnown) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if err := l.away(); err != nil {
		return fleet.Entry{}, fmt.Errorf("%w: %w", fleet.ErrNoAnswer, err)
	}
	return l.store.Get(ctx, key)
}

// value gives the last known value of a key.
func (l lastKnown) value(key string) ([]byte, bool) {
	v, _, ok := l.get(key)
	return v, ok
}

// entries are all entries.
func (l lastKnown) entries(ctx context.Context) ([]fleet.Entry, error) {
	all, err := l.stored(ctx)
	if !errors.Is(err, fleet.ErrNoAnswer) || ctx.Err() != nil {
		return all, err
	}
	l.each(func(key string, value []byte, rev uint64) {
		all = append(all, fleet.Entry{Key: key, Value: value, Rev: rev})
	})
	return all, nil
}

func (l lastKnown) stored(ctx context.Context) ([]fleet.Entry, error) {
	if l.away() != nil {
		return nil, fleet.ErrNoAnswer
	}
	ctx, stop := context.WithTimeout(ctx, lookFor/2)
	defer stop()
	return l.store.All(ctx)
}
