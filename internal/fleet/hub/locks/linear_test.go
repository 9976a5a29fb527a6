package locks

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// request is a request of an owner, and result its answer.
type request struct {
	owner   string
	release bool
	observe bool // the result is the list of all owners
}

type result string

const (
	granted result = "granted"
	full    result = "full"
	unknown result = "unknown" // no answer: the request may have an effect, now or later
)

// slotModel is a semaphore without time. It knows nothing of the code: a state is a sorted list of owners.
func slotModel(slots int, spurious bool) porcupine.Model {
	next := func(state, in, out any) (to []any) {
		owners, r := strings.Fields(state.(string)), in.(request)
		holds := slices.Contains(owners, r.owner)
		without := slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return o == r.owner })
		with := append(slices.Clone(without), r.owner)
		slices.Sort(with)
		if out == unknown || out == full && (spurious || len(without) >= slots && !holds) {
			to = append(to, state)
		}
		switch {
		case r.observe && out.(result) == result(state.(string)):
			to = append(to, state)
		case r.observe, out == full:
		case r.release:
			to = append(to, strings.Join(without, " "))
		case holds || len(owners) < slots:
			to = append(to, strings.Join(with, " "))
		}
		return to
	}
	m := porcupine.NondeterministicModel{Init: func() []any { return []any{""} }, Step: next,
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " ", out) }}
	return m.ToModel()
}

// clients sends concurrent requests of several owners through several hubs, and returns the history.
func clients(hubs []*Locks, owners, steps int, seed uint64) []porcupine.Operation {
	var mu sync.Mutex
	var all []porcupine.Operation
	var g sync.WaitGroup
	var clock atomic.Int64
	for i := range owners {
		g.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range steps {
				r := request{owner: fmt.Sprint("host", i), release: random.IntN(2) == 0}
				op := porcupine.Operation{ClientId: i, Input: r, Call: clock.Add(1)}
				op.Output = send(hubs[random.IntN(len(hubs))], r)
				op.Return = clock.Add(1)
				if op.Output == unknown {
					op.Return = math.MaxInt64
				}
				mu.Lock()
				all = append(all, op)
				mu.Unlock()
			}
		})
	}
	g.Wait()
	return append(all, porcupine.Operation{ClientId: owners, Input: request{observe: true}, Call: clock.Add(1),
		Output: holders(hubs[0]), Return: clock.Add(1)})
}

// holders returns the sorted owners in the store, when it has all late writes.
func holders(s *Locks) result {
	if u, ok := s.Records.Locks.Store.(*uncertain); ok {
		u.late.Wait()
		s = &Locks{Config: Config{Records: &records.Table{}}}
		s.Records.Locks = records.NewMirror(u.Store, "lock/", records.ParseLock)
	}
	state, _, err := s.read(background, "reboots")
	if err != nil {
		return result("error: " + err.Error())
	}
	var out []string
	for _, h := range state.Holders {
		out = append(out, h.Owner)
	}
	slices.Sort(out)
	return result(strings.Join(out, " "))
}

func send(s *Locks, r request) result {
	var err error
	if r.release {
		err = s.Release(background, "reboots", r.owner, "", "")
	} else {
		_, err = s.Acquire(background, "reboots", r.owner)
	}
	refused := (*RefusedError)(nil)
	switch {
	case err == nil:
		return granted
	case errors.As(err, &refused) && refused.Refused == coordination.Full:
		return full
	case errors.Is(err, fleet.ErrNoAnswer):
		return unknown
	}
	return result("error: " + err.Error())
}

// judged fails unless an order of the operations explains their results.
func judged(t *testing.T, m porcupine.Model, all []porcupine.Operation) {
	t.Helper()
	counts := map[result]int{}
	for _, op := range all {
		counts[op.Output.(result)]++
	}
	t.Logf("%v", counts)
	if got := porcupine.CheckOperationsTimeout(m, all, time.Minute); got != porcupine.Ok {
		for _, op := range all {
			t.Logf("%d to %d: %v %v", op.Call, op.Return, op.Input, op.Output)
		}
		t.Errorf("the history is %s: no order of the requests explains the answers", got)
	}
}

// TestLinearizable: several hubs over one store are one lock.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(20) {
		store := bustest.NewStore()
		hubs := []*Locks{hubOver(t, store), hubOver(t, store), hubOver(t, store)}
		declare(t, hubs[0], reboots(2))
		judged(t, slotModel(2, false), clients(hubs, 5, 12, seed))
	}
}

// TestLinearizableWithFaults: requests and answers are lost, and reads are outdated. A refusal may then be
// wrong, but a grant never.
func TestLinearizableWithFaults(t *testing.T) {
	for seed := range uint64(100) {
		var all []porcupine.Operation
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
		judged(t, slotModel(2, true), all)
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
	judged(t, slotModel(2, false), clients(hubs, 6, 25, 1))
}
