package locks

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// stand changes the standing of a target.
func stand(t *testing.T, s Service, i int, is fleet.Standing) {
	t.Helper()
	_, err := s.Of.Records.Targets.Change(t.Context(), string(bustest.ID(i)), func(to *fleet.Target) error {
		to.Standing = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Of.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTargetsThatLeave: web1 is overdue, or lost its slot; web2 has a slot.
func TestTargetsThatLeave(t *testing.T) {
	for expiry, want := range map[coordination.OnExpiry][3]string{
		coordination.Keep: {"web2 held, ", "web1 overdue, ", "web2 held, "},
		coordination.Free: {"web2 held, ", "web1 lost, ", "web2 held, "},
	} {
		s := listed(t, expiry)
		stand(t, s, 0, fleet.Retired)
		if got := states(t, s); got != want[0] {
			t.Errorf("%s: after web1 was retired: %s", expiry, got)
		}
		if got := texts(t, s.Of); expiry == coordination.Keep &&
			!strings.Contains(got, "lock reboots: the slot is free: the target was retired") {
			t.Errorf("%s: the events are\n%s", expiry, got)
		}
		s = listed(t, expiry)
		stand(t, s, 1, fleet.Retired)
		if got := states(t, s); got != want[1] {
			t.Errorf("%s: after web2 was retired: %s", expiry, got)
		}
		s = listed(t, expiry)
		stand(t, s, 0, fleet.Revoked)
		if got := states(t, s); got != want[2] {
			t.Errorf("%s: after web1 was revoked: %s", expiry, got)
		}
	}
}

// TestRevokedOwner: a revoked target may still work until its lease ends. An unknown one keeps its slot.
func TestRevokedOwner(t *testing.T) {
	s := listed(t, coordination.Keep)
	mustAcquire(t, s.Of, string(bustest.ID(0)))
	stand(t, s, 1, fleet.Revoked)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "web1 held, web2 held, "}, {time.Hour, "web1 overdue, web2 overdue, "},
		{time.Hour + coordination.Grace, "web1 overdue, "}} {
		s.Of.Now = func() time.Time { return noon.Add(2*time.Hour + c.after) }
		if err := s.Of.tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := states(t, s); got != c.want {
			t.Errorf("%s later: %s", c.after, got)
		}
	}
	if err := s.Of.Records.Targets.Remove(t.Context(), string(bustest.ID(0))); err != nil {
		t.Fatal(err)
	}
	if err := s.Of.tidy(t.Context()); err != nil || !strings.Contains(states(t, s), " overdue") {
		t.Errorf("a target without an entry: %s, %v", states(t, s), err)
	}
}
