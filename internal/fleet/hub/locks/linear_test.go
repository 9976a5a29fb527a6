package locks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/locks/lockstest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// clients sends concurrent requests of several owners through several hubs, and returns the history.
func clients(hubs []*Locks, owners, steps int, seed uint64) *lockstest.History {
	var g sync.WaitGroup
	var h lockstest.History
	for i := range owners {
		g.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range steps {
				r := lockstest.Request{Owner: fmt.Sprint("host", i), Release: random.IntN(2) == 0}
				hub := hubs[random.IntN(len(hubs))]
				h.Do(i, r, func() lockstest.Result { return send(hub, r) })
			}
		})
	}
	g.Wait()
	h.Do(owners, lockstest.Request{Observe: true}, func() lockstest.Result { return holders(hubs[0]) })
	return &h
}

// holders returns the sorted owners in the store, when it has all late writes.
func holders(s *Locks) lockstest.Result {
	if u, ok := s.Records.Locks.Store.(*uncertain); ok {
		u.late.Wait()
		s = &Locks{Config: Config{Records: &records.Table{}}}
		s.Records.Locks = records.NewMirror(u.Store, "lock/", records.ParseLock)
	}
	state, _, err := s.read(background, "reboots")
	if err != nil {
		return lockstest.Result("error: " + err.Error())
	}
	var out []string
	for _, h := range state.Holders {
		out = append(out, h.Owner)
	}
	slices.Sort(out)
	return lockstest.Result(strings.Join(out, " "))
}

func send(s *Locks, r lockstest.Request) lockstest.Result {
	var err error
	if r.Release {
		err = s.Release(background, "reboots", r.Owner, "", "")
	} else {
		_, err = s.Acquire(background, "reboots", r.Owner)
	}
	refused := (*RefusedError)(nil)
	switch {
	case err == nil:
		return lockstest.Granted
	case errors.As(err, &refused) && refused.Refused == coordination.Full:
		return lockstest.Full
	case errors.Is(err, fleet.ErrNoAnswer):
		return lockstest.Unknown
	}
	return lockstest.Result("error: " + err.Error())
}

// TestLinearizable: several hubs over one store are one lock.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(20) {
		store := bustest.NewStore()
		hubs := []*Locks{hubOver(t, store), hubOver(t, store), hubOver(t, store)}
		declare(t, hubs[0], reboots(2))
		clients(hubs, 5, 12, seed).Check(t, lockstest.Model(2, false))
	}
}

// TestLinearizableWithFaults: requests and answers are lost, and reads are outdated. A refusal may then be
// wrong, but a grant never.
func TestLinearizableWithFaults(t *testing.T) {
	for seed := range uint64(100) {
		var all *lockstest.History
		synctest.Test(t, func(t *testing.T) {
			store := bustest.NewStore()
			declare(t, hubOver(t, store), reboots(2))
			var hubs []*Locks
			for i := range uint64(3) {
				u := newUncertain(store, seed*3+i)
				t.Cleanup(u.late.Wait)
				hubs = append(hubs, hubOver(t, u))
			}
			all = clients(hubs, 5, 10, seed)
		})
		all.Check(t, lockstest.Model(2, true))
	}
}

// TestLinearizableOnTheRealStore is TestLinearizable with the server of hubs.
func TestLinearizableOnTheRealStore(t *testing.T) {
	srv := bustest.Embedded(t)
	store, err := srv.Store(t.Context(), "settings")
	if err != nil {
		t.Fatal(err)
	}
	hubs := []*Locks{hubOver(t, store), hubOver(t, store)}
	declare(t, hubs[0], reboots(2))
	clients(hubs, 6, 25, 1).Check(t, lockstest.Model(2, false))
}
