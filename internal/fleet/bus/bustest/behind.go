package bustest

import (
	"context"
	"fmt"
	"sync/atomic"

	"fettle.dev/fettle/internal/fleet"
)

// Behind is a store whose reads are answered by a former leader that does not know its replacement
// yet. It has none of the keys. Writes need a majority, so they are correct.
type Behind struct {
	*Store
	Reads atomic.Int32 // so many more reads are answered by that server
	Fails atomic.Int32 // so many more writes fail
}

// Get implements fleet.Store.
func (b *Behind) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if b.Reads.Add(-1) >= 0 {
		return fleet.Entry{}, fmt.Errorf("cannot read %s: %w", key, fleet.ErrNotFound)
	}
	return b.Store.Get(ctx, key)
}

// Update implements fleet.Store.
func (b *Behind) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if b.Fails.Add(-1) >= 0 {
		return 0, fleet.ErrNoAnswer
	}
	return b.Store.Update(ctx, key, value, rev)
}
