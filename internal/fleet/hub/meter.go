package hub

import (
	"context"
	"errors"
	"runtime"

	"fettle.dev/fettle/internal/fleet/hub/history"
	"fettle.dev/fettle/internal/fleet/hub/load"
)

// newMeter returns the meter of the load of this hub. The parts that it measures must exist when it runs.
func newMeter(c *core) *load.Meter {
	m := load.Config{Now: c.now, CPUs: runtime.GOMAXPROCS(0), Handshakes: c.handshakeLimiter.Waiting,
		CPU: func() (float64, error) {
			l, err := history.ProcessLoad()
			return l.CPU, err
		},
		Connections: func() int { return len(c.exchange.Connected()) },
		End: func(ctx context.Context) (uint64, error) {
			if c.endOfLog == nil {
				return 0, errors.New("cannot read the end of this log")
			}
			return c.endOfLog.End(ctx)
		},
		Position: func(ctx context.Context) (uint64, error) { return c.view.LogPosition(ctx) }}
	if c.conf.Free != nil {
		m.Disk = func() (free, all uint64, err error) { return c.conf.Free(c.conf.Dir) }
	}
	return load.New(m)
}
