package hub

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// lastKnown reads a bucket from the store and, while the store does not answer, from the memory of
// this hub. A hub without a quorum can still show these entries.
type lastKnown struct {
	store fleet.Store
	away  func() error // returns an error while most hubs are down
	*mirror[[]byte]
}

func newLastKnown(s fleet.Store, away func() error) lastKnown {
	return lastKnown{s, away, newMirror(s, "", raw)}
}

// Get implements access.Records. If the store cannot answer, it fails at once with
// fleet.ErrNoAnswer.
func (l lastKnown) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if err := l.away(); err != nil {
		return fleet.Entry{}, fmt.Errorf("%w: %w", fleet.ErrNoAnswer, err)
	}
	return l.store.Get(ctx, key)
}

// value returns the last known value of a key.
func (l lastKnown) value(key string) ([]byte, bool) {
	v, _, ok := l.get(key)
	return v, ok
}

// entries returns all entries, from memory if the store does not answer.
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
