package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"runtime"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
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
		Position: func(ctx context.Context) (uint64, error) { return c.view.LogPosition(ctx) },
		Memory:   history.HostMemory, Expiry: c.certificateExpiry, ConnectionLimit: bus.MaxConnections}
	if _, agents := budgets(c.conf.Descriptors); agents.Most > 0 {
		m.ConnectionLimit = min(m.ConnectionLimit, agents.Most)
	}
	if c.conf.Free != nil {
		m.Disk = func() (free, all uint64, err error) { return c.conf.Free(c.conf.Dir) }
	}
	return load.New(m)
}

// certificateExpiry returns the time at which the first certificate of this hub expires.
func (c *core) certificateExpiry() (time.Time, error) {
	authority, err := c.keys.Authority()
	if err != nil {
		return time.Time{}, err
	}
	signer, err := c.keys.Signer()
	if err != nil {
		return time.Time{}, err
	}
	own, err := c.keys.TLS()
	if err != nil {
		return time.Time{}, err
	}
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		return time.Time{}, err
	}
	until := authority.NotAfter
	for _, t := range []time.Time{signer.NotAfter, leaf.NotAfter} {
		if t.Before(until) {
			until = t
		}
	}
	return until, nil
}
