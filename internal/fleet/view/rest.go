package view

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// restEvery is how often a model looks whether it rests: nothing has changed since it
// looked before. Connections that nobody read with for as long are closed.
const restEvery = 20 * time.Second

// rest gives back what only work needs, whenever nothing changes any more, until ctx ends.
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

// shrink gives back pages in memory, and the room of the file that changes are written to
// first. What somebody reads just now stays; all tells whether nothing did.
func (v *View) shrink(ctx context.Context) (all bool, err error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	ctx = context.WithoutCancel(ctx)
	v.rows = map[int64]map[int64]row{} // a map that is cleared keeps its room
	var busy, frames, moved int
	// Whoever writes is not to wait for whoever reads.
	_, err = v.write.ExecContext(ctx, "PRAGMA busy_timeout(0)")
	err = errors.Join(err, v.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved))
	for _, step := range []string{fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTime.Milliseconds()), "PRAGMA shrink_memory"} {
		_, one := v.write.ExecContext(ctx, step)
		err = errors.Join(err, one)
	}
	if err != nil {
		return false, fmt.Errorf("cannot give back what the read model does not need: %w", v.noted(err))
	}
	return busy == 0, nil
}
