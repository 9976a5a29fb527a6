package view

import (
	"context"
	"time"
)

// RunTimes calls each with the run time of each run whose end was recorded after a position of the log. It returns the
// position until which it read, for the next call. A run counts once, even if its report was repeated. Runs without a
// known run time are left out.
func (v *View) RunTimes(ctx context.Context, after uint64, each func(time.Duration)) (until uint64, err error) {
	if until, err = v.LogPosition(ctx); err != nil || until <= after {
		return until, err
	}
	rows, err := v.read.QueryContext(ctx, "SELECT duration FROM events WHERE seq > ? AND seq <= ? AND duration > 0",
		int64(after), int64(until))
	if err != nil {
		return after, v.unread(err)
	}
	defer rows.Close()
	for rows.Next() {
		var d time.Duration
		if err := rows.Scan(&d); err != nil {
			return after, v.unread(err)
		}
		each(d)
	}
	if err := rows.Err(); err != nil {
		return after, v.unread(err)
	}
	return until, nil
}
