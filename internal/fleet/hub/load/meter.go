// Package load measures the load of a hub.
//
//	m := load.New(load.Config{Now: time.Now, CPUs: 4, …})
//	go m.Run(ctx)
//	l, known := m.Load()
//
//	var w load.Watch
//	w.Note([]string{"hub1"}, map[string]fleet.HubLoad{"hub1": l}, time.Now())
//	alarms := w.Alarms() // of hubs that are close to a limit
//
// A hub measures every few seconds. The bus sends the result to the other hubs, together with the connected agents.
//
//   - Absence: before the first measurement, the load is unknown.
//   - Unknown: a number that cannot be read is negative. The CPUs are unknown at the first measurement. While the store
//     does not answer, the lag is unknown.
//   - Interruption: if the hub no longer measures, its load is unknown after half a minute.
package load

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

const (
	// Interval is the time between two measurements.
	Interval = 5 * time.Second
	// validFor is the time for which a measurement is valid.
	validFor = 6 * Interval
	// endWithin limits the time in which the log must return its end.
	endWithin = 2 * time.Second
)

// Config contains what a Meter needs of its hub. All fields must be set, except Disk.
type Config struct {
	Now  func() time.Time
	CPUs int // that the hub can use
	// CPU returns the CPU time that the hub has used, in seconds.
	CPU         func() (float64, error)
	Connections func() int // connected agents
	Handshakes  func() int // connections that wait for their handshake
	// End returns the position of the last event in the log, and Position that of the last event in the read model.
	End, Position func(context.Context) (uint64, error)
	// Disk returns the free bytes of the disk of the hub, and all bytes; nil means unknown.
	Disk func() (free, all uint64, err error)
	// Memory returns the available memory of the host in bytes, and all memory.
	Memory func() (free, all uint64, err error)
	// ConnectionLimit is the maximum number of connected agents.
	ConnectionLimit int
	// Expiry returns the time at which the first certificate of the hub expires.
	Expiry func() (time.Time, error)
}

// Meter measures the load of a hub. It is safe for concurrent use.
type Meter struct {
	Config

	mu     sync.Mutex
	newest fleet.HubLoad
	at     time.Time // of newest; zero before the first measurement

	used  float64   // CPU time at the last measurement
	since time.Time // of used; zero if it is unknown
}

// New returns a meter without a measurement.
func New(c Config) *Meter { return &Meter{Config: c} }

// Run measures until ctx ends. It must be called once.
func (m *Meter) Run(ctx context.Context) error {
	for {
		m.measure(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Interval):
		}
	}
}

// Load returns the newest measurement. known is false if there is none, or if it is too old.
func (m *Meter) Load() (l fleet.HubLoad, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest, !m.at.IsZero() && m.Now().Sub(m.at).Abs() < validFor
}

func (m *Meter) measure(ctx context.Context) {
	l := fleet.HubLoad{Connections: m.Connections(), CPU: m.cpu(), EventLag: m.lag(ctx), Handshakes: m.Handshakes(),
		ConnectionLimit: m.ConnectionLimit}
	l.DiskFree, l.DiskFreeBytes = free(m.Disk)
	l.MemoryFree, _ = free(m.Memory)
	if until, err := m.Expiry(); err == nil {
		l.CertificateUntil = until.Unix()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newest, m.at = l, m.Now()
}

// cpu returns the used part of the CPUs since the last measurement, or -1.
func (m *Meter) cpu() float64 {
	now := m.Now()
	used, err := m.CPU()
	if err != nil {
		m.since = time.Time{}
		return -1
	}
	passed, before := now.Sub(m.since).Seconds(), m.used
	known := !m.since.IsZero() && passed > 0
	m.used, m.since = used, now
	if !known {
		return -1
	}
	return min(1, max(0, used-before)/passed/float64(max(1, m.CPUs)))
}

// lag returns how many events the read model lacks, or -1.
func (m *Meter) lag(ctx context.Context) int64 {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	end, err := m.End(ctx)
	if err != nil {
		return -1
	}
	at, err := m.Position(ctx)
	if err != nil {
		return -1
	}
	return int64(end - min(at, end))
}

// free returns the free part of a disk or a memory, and its size in bytes, or -1 for both.
func free(of func() (free, all uint64, err error)) (part float64, bytes int64) {
	if of == nil {
		return -1, -1
	}
	n, all, err := of()
	if err != nil || all == 0 {
		return -1, -1
	}
	return float64(n) / float64(all), int64(n)
}
