package locks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestSlotsOfRuns: agents acquire and release slots of any lock for runs.
func TestSlotsOfRuns(t *testing.T) {
	s := hubOver(t, bustest.NewStore())
	s.Trusted = func(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
		if id == bustest.ID(9) {
			return fleet.Target{}, fleet.ErrDenied
		}
		return fleet.Target{ID: id}, nil
	}
	for i := range 3 {
		to := fleet.Target{ID: bustest.ID(i), Name: fmt.Sprint("web", i)}
		if err := s.Records.Targets.Put(t.Context(), string(to.ID), to, 0); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(i int, body, want string) {
		t.Helper()
		got, err := s.OnSlot(t.Context(), bustest.ID(i), []byte(body))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%d, %s: %s, want %s", i, body, got, want)
		}
	}
	acquire, release := `{"action":"acquire","lock":"reboots"}`, `{"action":"release","lock":"reboots"}`
	observe := `{"action":"observe","lock":"reboots"}`
	ask(0, observe, `"unknown":true`)
	ask(0, acquire, `"unknown":true`)
	ask(0, release, `"unknown":true`)
	d := reboots(1)
	d.Wait = time.Minute
	declare(t, s, d)
	ask(0, observe, `{"free":true}`)
	ask(1, observe, `{"free":true}`) // an observation takes no slot
	ask(0, acquire, `{"granted":true,"token":1780315200000,"lease_ns":3600000000000}`)
	ask(0, acquire, `"granted":true,"token":1780315200000`)
	ask(1, acquire, `{"why":"the slot of the lock reboots is taken, held by web0 since 2026-06-01T12:00:00Z",`+
		`"wait_ns":60000000000}`)
	ask(0, observe, `{"free":true}`) // its own slot
	ask(2, observe, `{"why":"the slot of the lock reboots is taken, held by web0 since 2026-06-01T12:00:00Z; `+
		`targets that wait: 1"}`)
	ask(0, `{"action":"release","lock":"reboots","token":1780315199999}`, `{}`) // of an earlier slot
	ask(1, acquire, `"why"`)
	ask(0, release, `{}`)
	ask(1, acquire, `"granted":true`)
	ask(1, `{"action":"acquire","lock":"reboots","order":12}`, `"granted":true`)
	ask(1, `{"action":"release","lock":"reboots","order":11}`, `{}`) // sent before the acquisition
	ask(0, acquire, `"why"`)
	ask(9, acquire, "not allowed")
	ask(1, `{"action":"lock","lock":"reboots"}`, "cannot understand")
	ask(1, `{"action":"acquire","lock":"reboots","x":1}`, "cannot read")
	ask(1, `{"action":"acquire","lock":"`+strings.Repeat("a", 2000)+`"}`, "cannot read")
	for range runBurst {
		_, _ = s.OnSlot(t.Context(), bustest.ID(2), []byte(release))
	}
	ask(2, acquire, "sends more than")
}
