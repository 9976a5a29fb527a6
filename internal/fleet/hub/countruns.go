package hub

import (
	"context"
	"errors"
	"time"
)

// runTimes is view.RunTimes, once the read model has the log. While a read model is created again, it would return old
// runs.
func (d *data) runTimes(ctx context.Context, after uint64, each func(time.Duration)) (uint64, error) {
	at, err := d.view.LogPosition(ctx)
	if err == nil && (at == 0 || at < d.logEnd.Load()) {
		err = errors.New("cannot count runs: the read model does not have all records of the log yet")
	}
	if err != nil {
		return after, err
	}
	return d.view.RunTimes(ctx, after, each)
}
