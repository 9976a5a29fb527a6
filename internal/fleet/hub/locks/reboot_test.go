package locks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestRequestsOfAgents: agents acquire and release slots of the lock that limits reboots.
func TestRequestsOfAgents(t *testing.T) {
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
		got, err := s.OnReboot(t.Context(), bustest.ID(i), []byte(body))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%d, %s: %s, want %s", i, body, got, want)
		}
	}
	acquire, release := `{"action":"acquire","lock":"reboots"}`, `{"action":"release","lock":"reboots"}`
	declare(t, s, reboots(1)) // not for reboots
	ask(0, acquire, `{}`)
	d := reboots(1)
	d.Reboots = true
	declare(t, s, d)
	ask(0, `{"action":"lock"}`, `{"lock":"reboots"}`)
	ask(0, acquire, `{"lock":"reboots","granted":true,"token":1780315200000,"lease_ns":3600000000000}`)
	ask(0, acquire, `"granted":true`)
	ask(1, `{"action":"acquire","lock":"schema"}`, `{"lock":"reboots"}`)
	ask(1, acquire, `"why":"waits for a slot of the lock reboots, held by web0 since 2026-06-01T12:00:00Z"}`)
	ask(1, release, `{"lock":"reboots"}`)
	ask(1, acquire, `"why"`)
	ask(0, `{"action":"release","lock":"reboots","token":1780315199999}`, `{"lock":"reboots"}`) // of an earlier slot
	ask(1, acquire, `"why"`)
	ask(0, `{"action":"release","lock":"reboots","token":1780315200000}`, `{"lock":"reboots"}`)
	ask(1, acquire, `"granted":true`)
	ask(1, release, `{"lock":"reboots"}`)
	ask(1, acquire, `"granted":true`)
	ask(9, acquire, "not allowed")
	ask(1, `{"action":"steal"}`, "cannot understand")
	ask(1, `{"action":"lock","x":1}`, "cannot read")
	declare(t, s)
	ask(1, acquire, `{}`)
	ask(1, release, `{}`)
	ask(2, release, `{}`)
	s.MayChange = func() error { return fleet.ErrNoAnswer }
	ask(1, acquire, "did not answer")
}

// TestExempt: an answer names an exemption that is in force for the target.
func TestExempt(t *testing.T) {
	s := hubOver(t, bustest.NewStore())
	s.Trusted = func(_ context.Context, id fleet.TargetID) (fleet.Target, error) { return fleet.Target{ID: id}, nil }
	d := reboots(1)
	d.Reboots = true
	declare(t, s, d)
	now := s.Now().Unix()
	ids := []fleet.TargetID{bustest.ID(1), bustest.ID(0)}
	two := []assign.Consent{{By: "ann", At: now - 10}, {By: "bob", At: now - 10}}
	var rev uint64
	for i, c := range []struct {
		assign.Exemption
		action string
		want   bool
	}{
		{assign.Exemption{}, "lock", false},
		{assign.Exemption{Approvals: two, Seconds: 11}, "lock", true},
		{assign.Exemption{Approvals: two, Seconds: 11}, "acquire", true},
		{assign.Exemption{Approvals: two, Seconds: 11}, "release", false},
		{assign.Exemption{Approvals: two, Seconds: 10}, "lock", false}, // it has ended
		{assign.Exemption{Approvals: two[:1], Seconds: 60, At: now}, "lock", false},
		{assign.Exemption{Approvals: two, Seconds: 60, Targets: ids[:1]}, "lock", false},
		{assign.Exemption{Approvals: two, Seconds: 60, Targets: ids}, "lock", true},
	} {
		c.ID = "e1"
		if err := s.Records.Exemptions.Put(t.Context(), c.ID, c.Exemption, rev); err != nil {
			t.Fatal(err)
		}
		_, rev, _ = s.Records.Exemptions.Get(c.ID)
		got, err := s.OnReboot(t.Context(), bustest.ID(0), []byte(`{"action":"`+c.action+`","lock":"reboots"}`))
		if err != nil || strings.Contains(string(got), `"exempt":true`) != c.want {
			t.Errorf("%d: %s %v, want exempt: %v", i, got, err, c.want)
		}
	}
}

// TestRebootsOfSupervisors: a supervisor and its guests do not reboot at the same time, also if slots are free.
func TestRebootsOfSupervisors(t *testing.T) {
	s := hubOver(t, bustest.NewStore())
	s.Trusted = func(_ context.Context, id fleet.TargetID) (fleet.Target, error) { return fleet.Target{ID: id}, nil }
	unknown := false
	s.Related = func(_ context.Context, id fleet.TargetID) ([]fleet.TargetID, error) {
		switch {
		case unknown:
			return nil, fleet.ErrNoAnswer
		case id == bustest.ID(0):
			return []fleet.TargetID{bustest.ID(1), bustest.ID(2)}, nil
		}
		return []fleet.TargetID{bustest.ID(0)}, nil
	}
	d := reboots(3)
	d.Reboots = true
	declare(t, s, d)
	ask := func(i int, body, want string) {
		t.Helper()
		got, err := s.OnReboot(t.Context(), bustest.ID(i), []byte(body))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%d, %s: %s, want %s", i, body, got, want)
		}
	}
	acquire, release := `{"action":"acquire","lock":"reboots"}`, `{"action":"release","lock":"reboots"}`
	ask(1, acquire, `"granted":true`)
	ask(2, acquire, `"granted":true`)
	ask(0, acquire, "a supervisor and its guests do not reboot at the same time")
	if _, err := s.Acquire(t.Context(), "reboots", string(bustest.ID(0))); refusalOf(err).kind != "slots_taken" {
		t.Error(err)
	}
	ask(1, release, `{"lock":"reboots"}`)
	ask(0, acquire, `"why":"waits: `)
	ask(2, release, `{"lock":"reboots"}`)
	ask(0, acquire, `"granted":true`)
	ask(1, acquire, `"why":"waits: `)
	unknown = true
	ask(0, acquire, "cannot find the supervisors and guests") // and the agent asks again
	d.Reboots = false
	declare(t, s, d)
	if _, err := s.Acquire(t.Context(), "reboots", string(bustest.ID(1))); err != nil {
		t.Errorf("a lock for other work does not know guests: %v", err)
	}
}
