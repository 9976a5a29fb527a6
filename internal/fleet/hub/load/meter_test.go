package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// hub is a hub whose load can be measured.
type hub struct {
	now           time.Time
	used          float64
	end, position uint64
	deaf          bool
	*Meter
}

func newHub() *hub {
	h := &hub{now: time.Unix(1000, 0)}
	or := func(err error) error {
		if h.deaf {
			return err
		}
		return nil
	}
	h.Meter = New(Config{Now: func() time.Time { return h.now }, CPUs: 4, Connections: func() int { return 12 },
		CPU: func() (float64, error) { return h.used, or(errors.New("no CPU")) }, Handshakes: func() int { return 3 },
		End:             func(context.Context) (uint64, error) { return h.end, or(errors.New("no log")) },
		Position:        func(context.Context) (uint64, error) { return h.position, nil },
		Disk:            func() (free, all uint64, err error) { return 25, 100, or(errors.New("no disk")) },
		Memory:          func() (free, all uint64, err error) { return 40, 100, or(errors.New("no memory")) },
		ConnectionLimit: 1000,
		Expiry:          func() (time.Time, error) { return time.Unix(5000, 0), or(errors.New("no certificate")) }})
	return h
}

// want measures after a time, and compares the load.
func (h *hub) want(t *testing.T, after time.Duration, want fleet.HubLoad) {
	t.Helper()
	h.now = h.now.Add(after)
	h.measure(t.Context())
	want.ConnectionLimit, want.MemoryFree, want.CertificateUntil, want.DiskFreeBytes = 1000, 0.4, 5000, 25
	if h.deaf {
		want.MemoryFree, want.CertificateUntil = -1, 0
	}
	if want.DiskFree < 0 {
		want.DiskFreeBytes = -1
	}
	if got, known := h.Load(); got != want || !known {
		t.Errorf("load %+v %t, want %+v", got, known, want)
	}
}

// TestLoad: the numbers of a hub. The CPUs are the mean since the last measurement.
func TestLoad(t *testing.T) {
	h := newHub()
	if l, known := h.Load(); known {
		t.Error("the load is known before it was measured: ", l)
	}
	h.used, h.end, h.position = 100, 50, 50
	h.want(t, 0, fleet.HubLoad{Connections: 12, CPU: -1, Handshakes: 3, DiskFree: 0.25})
	h.used, h.end = 110, 57
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, CPU: 0.5, EventLag: 7, Handshakes: 3, DiskFree: 0.25})
	h.used, h.position = 190, 60 // the read model got an event after the end was read
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, CPU: 1, Handshakes: 3, DiskFree: 0.25})
	h.used = 0
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, CPU: 0, Handshakes: 3, DiskFree: 0.25})
	h.want(t, 0, fleet.HubLoad{Connections: 12, CPU: -1, Handshakes: 3, DiskFree: 0.25})
}

// TestUnknownLoad: numbers that cannot be read are negative.
func TestUnknownLoad(t *testing.T) {
	h := newHub()
	h.want(t, 0, fleet.HubLoad{Connections: 12, CPU: -1, Handshakes: 3, DiskFree: 0.25})
	h.deaf = true
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, CPU: -1, EventLag: -1, Handshakes: 3, DiskFree: -1})
	h.deaf, h.Disk = false, nil
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, CPU: -1, Handshakes: 3, DiskFree: -1})
	h.Position = func(context.Context) (uint64, error) { return 0, errors.New("no model") }
	h.Disk = func() (free, all uint64, err error) { return 0, 0, nil }
	h.want(t, 5*time.Second, fleet.HubLoad{Connections: 12, EventLag: -1, Handshakes: 3, DiskFree: -1})
}

// TestOldLoad: a measurement is valid for half a minute, also if the clock is set back.
func TestOldLoad(t *testing.T) {
	h := newHub()
	h.measure(t.Context())
	for after, want := range map[time.Duration]bool{29 * time.Second: true, 30 * time.Second: false,
		-29 * time.Second: true, -time.Hour: false} {
		h.now = time.Unix(1000, 0).Add(after)
		if _, known := h.Load(); known != want {
			t.Errorf("after %s: %t", after, known)
		}
	}
}

// TestRun: a meter measures at once, and ends with its context.
func TestRun(t *testing.T) {
	h := newHub()
	ctx, cancel := context.WithCancel(t.Context())
	h.Position = func(context.Context) (uint64, error) {
		cancel()
		return 0, nil
	}
	if err := h.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, known := h.Load(); !known {
		t.Error("nothing was measured")
	}
}
