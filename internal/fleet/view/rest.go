package view

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// restEvery is the time between two checks whether the model is idle. Idle connections for reading
// are closed after the same time.
const restEvery = 20 * time.Second

// rest frees memory and disk space when the model becomes idle, until ctx ends.
func (v *View) rest(ctx context.Context) error {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	last, rests := v.Changed(), false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		switch now := v.Changed(); {
		case now != last:
			last, rests = now, false
		case !rests:
			all, err := v.shrink(ctx)
			if err != nil && ctx.Err() == nil {
				return err
			}
			rests = all
		}
	}
}

// shrink frees cached pages, and truncates the write-ahead log of SQLite. It skips pages that are
// being read; all reports whether there were none.
func (v *View) shrink(ctx context.Context) (all bool, err error) {
	used := v.stored.rest()
	v.writing.Lock()
	defer v.writing.Unlock()
	ctx = context.WithoutCancel(ctx)
	v.rows = map[int64]map[int64]row{} // a cleared map does not free memory
	var busy, frames, moved int
	// Writers must not wait for readers.
	_, err = v.write.ExecContext(ctx, "PRAGMA busy_timeout(0)")
	err = errors.Join(err, v.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved))
	for _, step := range []string{fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTime.Milliseconds()),
		"PRAGMA shrink_memory"} {
		_, one := v.write.ExecContext(ctx, step)
		err = errors.Join(err, one)
	}
	if err != nil {
		return false, fmt.Errorf("cannot free the memory and the disk space of the read model: %w", v.noted(err))
	}
	return busy == 0 && !used, nil
}
