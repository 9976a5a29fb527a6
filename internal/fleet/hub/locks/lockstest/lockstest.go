// Package lockstest records requests for the slots of a lock, and checks whether a semaphore explains the answers. It
// uses no code of the locks.
//
//	var h lockstest.History
//	h.Do(client, lockstest.Request{Owner: "web1"}, func() lockstest.Result { … })
//	h.Check(t, lockstest.Model(2, false))
package lockstest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Request is a request of an owner for a slot.
type Request struct {
	Owner   string
	Release bool
	// Observe means that the result is the sorted list of all owners, separated by spaces.
	Observe bool
}

// Result is the answer to a request.
type Result string

// Results of requests.
const (
	Granted Result = "granted" // also of a release
	Full    Result = "full"
	Unknown Result = "unknown" // no answer: the request may have an effect, now or later
	Refused Result = "refused" // the request had no effect, for a reason other than Full; it is not recorded
)

// Model is a semaphore without time. A state is a sorted list of owners. spurious means that a request may be refused
// although a slot is free.
func Model(slots int, spurious bool) porcupine.Model {
	next := func(state, in, out any) (to []any) {
		owners, r := strings.Fields(state.(string)), in.(Request)
		holds := slices.Contains(owners, r.Owner)
		without := slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return o == r.Owner })
		with := append(slices.Clone(without), r.Owner)
		slices.Sort(with)
		if out == Unknown || out == Full && (spurious || len(without) >= slots && !holds) {
			to = append(to, state)
		}
		switch {
		case r.Observe && out.(Result) == Result(state.(string)):
			to = append(to, state)
		case r.Observe, out == Full:
		case r.Release:
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

// History contains requests and their results. Its methods are safe for concurrent use. The zero value is empty.
type History struct {
	mu  sync.Mutex // of all fields
	now int64
	all []porcupine.Operation
}

func (h *History) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	return h.now
}

// Do sends a request of a client, and records its result. A client sends one request after another.
func (h *History) Do(client int, r Request, send func() Result) Result {
	op := porcupine.Operation{ClientId: client, Input: r, Call: h.tick()}
	out := send()
	op.Output, op.Return = out, h.tick()
	if out == Unknown {
		op.Return = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out != Refused {
		h.all = append(h.all, op)
	}
	return out
}

// Check fails unless an order of the requests explains their results.
func (h *History) Check(t testing.TB, m porcupine.Model) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[Result]int{}
	for _, op := range h.all {
		counts[op.Output.(Result)]++
	}
	t.Logf("results: %v", counts)
	if got := porcupine.CheckOperationsTimeout(m, h.all, time.Minute); got != porcupine.Ok {
		for _, op := range h.all {
			t.Logf("%d to %d: %v %v", op.Call, op.Return, op.Input, op.Output)
		}
		t.Errorf("the history is %s: no order of the requests explains the answers", got)
	}
}
