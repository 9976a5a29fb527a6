package records

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// LastKnown reads a bucket from the store and, while the store does not answer, from the memory of
// this hub. A hub without a quorum can still show these entries.
type LastKnown struct {
	away func() error // returns an error while most hubs are down
	*Mirror[[]byte]
}

// NewLastKnown returns the entries of a bucket.
func NewLastKnown(s fleet.Store, away func() error) LastKnown {
	return LastKnown{away, NewMirror(s, "", Raw)}
}

// Get implements access.Records. If the store cannot answer, it fails at once with
// fleet.ErrNoAnswer.
func (l LastKnown) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if err := l.away(); err != nil {
		return fleet.Entry{}, fmt.Errorf("%w: %w", fleet.ErrNoAnswer, err)
	}
	return l.Store.Get(ctx, key)
}

// Value returns the last known value of a key.
func (l LastKnown) Value(key string) ([]byte, bool) {
	v, _, ok := l.Mirror.Get(key)
	return v, ok
}

// Entries returns all entries, from memory if the store does not answer.
func (l LastKnown) Entries(ctx context.Context) ([]fleet.Entry, error) {
	all, err := l.stored(ctx)
	if !errors.Is(err, fleet.ErrNoAnswer) || ctx.Err() != nil {
		return all, err
	}
	l.Each(func(key string, value []byte, rev uint64) {
		all = append(all, fleet.Entry{Key: key, Value: value, Rev: rev})
	})
	return all, nil
}

func (l LastKnown) stored(ctx context.Context) ([]fleet.Entry, error) {
	if l.away() != nil {
		return nil, fleet.ErrNoAnswer
	}
	ctx, stop := context.WithTimeout(ctx, StatusTimeout/2)
	defer stop()
	return l.Store.All(ctx)
}
