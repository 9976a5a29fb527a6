package waits

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// TestLimitsAgree: the language accepts exactly the barriers and signals that hubs can store.
func TestLimitsAgree(t *testing.T) {
	if source.MaxBarriers != barrier.MaxBarriers || source.MaxSignals != signal.MaxSignals ||
		source.MaxMembers != barrier.MaxMembers || fleet.MaxPayload != signal.MaxPayload ||
		barrier.MinOffline != signal.MinKeep || barrier.MaxOffline != signal.MaxKeep ||
		source.MinWaitTime*time.Second != signal.MinKeep || source.MaxWaitTime*time.Second != signal.MaxKeep {
		t.Error("the limits differ")
	}
	for _, name := range []string{"a", strings.Repeat("x", 63), strings.Repeat("x", 64), "", "a.b", "1a", "a_b-C9"} {
		ok := source.ValidWait(name, nil)
		if ok != (barrier.CheckName(name) == nil) || ok != (signal.CheckName(name) == nil) {
			t.Errorf("%q: %v, %v", name, ok, barrier.CheckName(name))
		}
	}
	for _, q := range []string{"all", "1", "1000", "1001", "0", "0%", "1%", "100%", "101%", "", "-1", "01", "+1", "a%"} {
		if source.ValidQuorum(q) && barrier.CheckQuorum(q) != nil {
			t.Errorf("%q: %v", q, barrier.CheckQuorum(q))
		}
	}
}

// TestBarrier: members arrive at several hubs, and repeat requests whose answers were lost.
func TestBarrier(t *testing.T) {
	s := newSite(t)
	a, b := s.hub(), s.hub()
	s.ask(a, 0, arrive("schema", "r1"), `"why":"cannot find the barrier schema`)
	s.declare(a, schema)
	s.ask(a, 0, arrive("schema", "r1"), `{"why":"1 of 3 required members have arrived at the barrier schema"}`)
	s.ask(b, 1, arrive("schema", "r1"), `"why":"2 of 3`)
	s.ask(b, 0, arrive("schema", "r1"), `"why":"2 of 3`)
	s.ask(b, 3, arrive("schema", "r1"), "not a member")
	s.ask(b, 3, arrive("schema", ""), "cannot use")
	s.ask(b, 3, fleet.WaitRequest{Action: "steal"}, "cannot understand")
	s.ask(a, 2, arrive("schema", "r1"), `{"done":true,"generation":1}`)
	for _, hub := range []*Waits{a, b} {
		for i := range 3 {
			s.ask(hub, i, arrive("schema", "r1"), `{"done":true,"generation":1}`)
		}
	}
	s.ask(b, 1, arrive("schema", "r2"), `"why":"1 of 3`)
	s.ask(b, 1, fleet.WaitRequest{Action: fleet.WaitWithdraw, Name: "schema", Run: "r2"}, `{}`)
	s.ask(b, 0, arrive("schema", "r2"), `"why":"1 of 3`)
	a.MayChange = func() error { return fleet.ErrNoAnswer }
	s.ask(a, 0, arrive("schema", "r2"), "did not answer")
}

// TestAbsentMembers: a member that cannot arrive does not count, and the list tells why.
func TestAbsentMembers(t *testing.T) {
	for state, change := range map[document.BarrierMemberState]func(*document.Target){
		document.MemberRetired: func(d *document.Target) { d.Standing = fleet.Retired },
		document.MemberRevoked: func(d *document.Target) { d.Standing = fleet.Revoked },
		document.MemberSuspect: func(d *document.Target) { d.Suspect = &fleet.Suspicion{} },
		document.MemberFrozen:  func(d *document.Target) { d.Frozen = "by kim" },
		document.MemberOffline: func(d *document.Target) {
			d.Connected, d.Contact = false, noon.Add(-10*time.Minute).UnixNano()
		},
		document.MemberNotEnrolled: func(d *document.Target) { d.Name = "other" },
	} {
		s := newSite(t)
		w := s.hub()
		s.declare(w, schema)
		s.ask(w, 0, arrive("schema", "r1"), `1 of 3`)
		s.ask(w, 1, arrive("schema", "r1"), `2 of 3`)
		s.set(2, change)
		w.observed.all = nil
		all, err := Service{w}.Barriers(t.Context())
		if err != nil || len(all.Barriers) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		got := ""
		for _, m := range all.Barriers[0].Members {
			got += m.Name + " " + string(m.State) + ", "
		}
		if want := "db0 arrived, db1 arrived, db2 " + string(state) + ", "; got != want || all.Barriers[0].Required != 2 ||
			all.Barriers[0].Counted != 2 || all.Barriers[0].Arrived != 2 {
			t.Errorf("%s, want %s; %+v", got, want, all.Barriers[0])
		}
		s.declare(w, schema) // the leading hub counts again
		s.ask(w, 0, arrive("schema", "r1"), `{"done":true,"generation":1}`)
		if text := s.texts(); !strings.Contains(text, "generation 1 opened with 2 arrivals") {
			t.Errorf("no event in\n%s", text)
		}
	}
}

// TestOfflineMember: an offline member counts until the declared time, and without this time always.
func TestOfflineMember(t *testing.T) {
	s := newSite(t)
	w := s.hub()
	always := schema.Barriers[0]
	always.Name, always.OfflineAfter = "always", 0
	s.declare(w, query.Coordination{Barriers: []query.Barrier{schema.Barriers[0], always}})
	s.set(2, func(d *document.Target) { d.Connected, d.Contact = false, noon.Add(-10*time.Minute+1).UnixNano() })
	for _, name := range []string{"schema", "always"} {
		s.ask(w, 0, arrive(name, "r1"), `1 of 3`)
	}
	s.now = noon.Add(1)
	s.ask(w, 0, arrive("schema", "r1"), `1 of 2`)
	s.ask(w, 0, arrive("always", "r1"), `1 of 3`)
	s.ask(w, 2, arrive("schema", "r1"), `2 of 3`) // it is back
	s.ask(w, 2, fleet.WaitRequest{Action: fleet.WaitWithdraw, Name: "schema", Run: "r1"}, `{}`)
	w.began = noon.Add(-9 * time.Minute)
	s.ask(w, 0, arrive("schema", "r1"), `1 of 3`) // this hub cannot know that it was offline for 10 minutes
}

// TestKilledAgent: an arrival that is not repeated ends.
func TestKilledAgent(t *testing.T) {
	s := newSite(t)
	w := s.hub()
	s.declare(w, schema)
	s.ask(w, 0, arrive("schema", "r1"), `1 of 3`)
	s.now = noon.Add(barrier.ArrivalTime)
	s.declare(w, schema)
	if text := s.texts(); strings.Count(text, "the arrival ended") != 1 {
		t.Errorf("the events are\n%s", text)
	}
	s.ask(w, 1, arrive("schema", "r1"), `1 of 3`)
}

// TestClocksOfHubs: hubs whose clocks differ count each other's arrivals, and see when an arrival ends. A request that
// was sent before the withdrawal has no effect.
func TestClocksOfHubs(t *testing.T) {
	s := newSite(t)
	a, b := s.hub(), s.hub()
	b.Now = func() time.Time { return s.now.Add(-time.Hour) }
	s.declare(a, schema)
	s.ask(a, 0, arrive("schema", "r1"), `1 of 3`)
	s.ask(b, 1, arrive("schema", "r1"), `2 of 3`)
	s.ask(a, 1, arrive("schema", "r1"), `2 of 3`)
	for _, w := range []*Waits{b, a} { // the agent of db1 is killed
		s.ask(w, 0, arrive("schema", "r1"), `2 of 3`)
	}
	s.now = noon.Add(barrier.RenewTime)
	s.ask(b, 0, arrive("schema", "r1"), `2 of 3`)
	s.ask(a, 0, arrive("schema", "r1"), `2 of 3`)
	s.now = noon.Add(barrier.ArrivalTime)
	s.ask(a, 0, arrive("schema", "r1"), `1 of 3`)
	s.ask(a, 0, fleet.WaitRequest{Action: fleet.WaitWithdraw, Name: "schema", Run: "r1", Order: 9}, `{}`)
	s.ask(b, 0, fleet.WaitRequest{Action: fleet.WaitArrive, Name: "schema", Run: "r1", Order: 8}, `sent a later request`)
}

// TestRestoredFleet: arrivals from before the restoration do not count.
func TestRestoredFleet(t *testing.T) {
	s := newSite(t)
	w := s.hub()
	s.declare(w, schema)
	s.ask(w, 0, arrive("schema", "r1"), `1 of 3`)
	s.now = noon.Add(2 * time.Second)
	err := w.Records.Epochs.Put(t.Context(), records.EpochKey, records.Epoch{Restored: noon.Unix() + 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.ask(w, 1, arrive("schema", "r1"), `1 of 3`)
	s.ask(w, 0, arrive("schema", "r1"), `2 of 3`)
}

// TestUndeclaredObjects: an object without a declaration is removed when it has no use.
func TestUndeclaredObjects(t *testing.T) {
	s := newSite(t)
	w := s.hub()
	s.declare(w, schema)
	for i := range 3 {
		s.ask(w, i, arrive("schema", "r1"), ``)
	}
	s.declare(w, query.Coordination{})
	s.ask(w, 0, arrive("schema", "r1"), `"done":true`)
	s.ask(w, 0, arrive("schema", "r2"), `no longer declares the barrier schema`)
	s.now = noon.Add(barrier.PassTime)
	s.declare(w, query.Coordination{})
	bustest.Await(t, "the objects remain", func() bool {
		return len(w.Records.Barriers.Values())+len(w.Records.Signals.Values()) == 0
	})
	s.declare(w, schema)
	s.ask(w, 0, arrive("schema", "r1"), `1 of 3`)
}

// TestConcurrentArrivals: each round of all members at several hubs opens exactly one generation for all of them.
func TestConcurrentArrivals(t *testing.T) {
	s := newSite(t)
	hubs := []*Waits{s.hub(), s.hub(), s.hub()}
	s.declare(hubs[0], schema)
	for _, hub := range hubs {
		hub.limiter.Burst = 1e6
	}
	for round := 1; round <= 20; round++ {
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				body, _ := json.Marshal(arrive("schema", fmt.Sprint("r", round)))
				for n := i; ; n++ { // each repetition reaches another hub
					got, err := hubs[n%3].OnWait(t.Context(), bustest.ID(i), body)
					var a fleet.WaitAnswer
					if err == nil {
						err = json.Unmarshal(got, &a)
					}
					if err != nil || a.Done {
						if err != nil || a.Generation != uint64(round) {
							t.Errorf("round %d of db%d: %+v, %v", round, i, a, err)
						}
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
