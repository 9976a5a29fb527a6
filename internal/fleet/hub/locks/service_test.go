package locks

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/source"
)

// TestLimitsAgree: the language accepts exactly the locks that hubs can store.
func TestLimitsAgree(t *testing.T) {
	if source.MaxSlots != coordination.MaxSlots || source.MaxLocks != coordination.MaxLocks ||
		source.MinLease*time.Second != coordination.MinLease || source.MaxLease*time.Second != coordination.MaxLease {
		t.Error("the limits differ")
	}
	for _, name := range []string{"reboots", "a", strings.Repeat("x", 63), strings.Repeat("x", 64), "", "a.b", "1a",
		"a_b-C9"} {
		l := source.Lock{Name: name, Slots: 1, Lease: 60, OnExpiry: "keep"}
		if (l.Valid() == nil) != (coordination.CheckName(name) == nil) {
			t.Errorf("%q: %v, and %v", name, l.Valid(), coordination.CheckName(name))
		}
	}
}

// listed returns a hub with web1, whose lease ended an hour ago, and web2.
func listed(t *testing.T, expiry coordination.OnExpiry) Service {
	t.Helper()
	s := hubOver(t, bustest.NewStore())
	for i, name := range []string{"web1", "web2"} {
		err := s.Records.Targets.Put(t.Context(), string(bustest.ID(i)), fleet.Target{ID: bustest.ID(i), Name: name}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	d := reboots(2)
	d.OnExpiry = expiry
	declare(t, s, d)
	mustAcquire(t, s, string(bustest.ID(0)))
	s.Now = func() time.Time { return noon.Add(2 * time.Hour) }
	mustAcquire(t, s, string(bustest.ID(1)))
	return Service{s}
}

func states(t *testing.T, s Service) (out string) {
	t.Helper()
	all, err := s.Locks(t.Context())
	if err != nil || len(all.Locks) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, h := range all.Locks[0].Holders {
		out += h.Name + " " + string(h.State) + ", "
	}
	return out
}

func TestListAndRelease(t *testing.T) {
	for expiry, want := range map[coordination.OnExpiry]string{
		coordination.Keep: "web1 overdue, web2 held, ",
		coordination.Free: "web2 held, web1 lost, ",
	} {
		s, kim := listed(t, expiry), api.Caller{Principal: access.Principal{Name: "kim"}}
		if got := states(t, s); got != want {
			t.Errorf("%s: %s, want %s", expiry, got, want)
		}
		alarms := Alarms(s.Of.Records, s.Of.Now())
		if len(alarms) != 1 || alarms[0].Count != 1 || alarms[0].Targets[0] != bustest.ID(0) ||
			!strings.Contains(alarms[0].Text, "The lease of the lock reboots ended without a release: web1.") {
			t.Errorf("%s: %+v", expiry, alarms)
		}
		refused := (*api.Refusal)(nil)
		for _, lock := range []string{"reboots", "other", "../x"} {
			_, err := s.ReleaseSlot(t.Context(), kim, route.LockName{Lock: lock},
				document.LockReleaseRequest{Owner: "web9", Reason: "it is off"})
			if !errors.As(err, &refused) || refused.Status != 404 {
				t.Errorf("%s of web9: %v", lock, err)
			}
		}
		for _, r := range []document.LockReleaseRequest{{Owner: "web1"}, {Reason: "it is off"}} {
			if _, err := s.ReleaseSlot(t.Context(), kim, route.LockName{Lock: "reboots"}, r); !errors.As(err, &refused) ||
				refused.Status != api.BadRequest {
				t.Errorf("%+v: %v", r, err)
			}
		}
		long := document.LockReleaseRequest{Owner: "web1", Reason: strings.Repeat("x", coordination.MaxReason+1)}
		if _, err := s.ReleaseSlot(t.Context(), kim, route.LockName{Lock: "reboots"}, long); !errors.As(err, &refused) {
			t.Errorf("a long reason: %v", err)
		}
		done, err := s.ReleaseSlot(t.Context(), kim, route.LockName{Lock: "reboots"},
			document.LockReleaseRequest{Owner: "web1", Reason: "it is off"})
		if got := states(t, s); err != nil || got != "web2 held, " ||
			done.Text != "The slot of web1 is released. Lock: reboots." {
			t.Errorf("%s: %v; %s", expiry, err, got)
		}
		if len(Alarms(s.Of.Records, s.Of.Now())) != 0 {
			t.Errorf("%s: an alarm remains", expiry)
		}
	}
}
