package coordination

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"fettle.dev/fettle/internal/fleet/coordination"
)

// operations are requests to hubs with their answers, for porcupine. site.mu protects them.
type operations []porcupine.Operation

// lateBy is the longest time after which a request can have its effect: its delay, and the delay of a write.
const lateBy = 2 * time.Minute

// record records a request that was sent at a time. Without an answer, it can have its effect later, or never.
func (s *site) record(client int, in any, out any, sent time.Duration, answered bool) {
	if s.sealed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.at()
	if !answered {
		end = sent + lateBy
	}
	// A call and a return at the same time are concurrent.
	s.operations = append(s.operations, porcupine.Operation{ClientId: client, Input: in, Output: out,
		Call: 2 * int64(sent), Return: 2*int64(end) + 1})
}

// thinkFor limits the search for an order. Most histories need some milliseconds, and a few far longer.
const thinkFor = 2 * time.Second

// explained checks whether an order of the requests explains their answers. It runs in real time.
func explained(all operations, m porcupine.Model) (wrong []string, undecided bool) {
	switch porcupine.CheckOperationsTimeout(m, all, thinkFor) {
	case porcupine.Ok:
		return nil, false
	case porcupine.Unknown:
		return nil, true
	}
	out := []string{"no order of the requests explains the answers"}
	for _, op := range all {
		out = append(out, fmt.Sprintf("%s to %s: %+v %+v", time.Duration(op.Call/2), time.Duration(op.Return/2), op.Input,
			op.Output))
	}
	return out, false
}

// model returns a model whose states are values.
func model[S comparable](first S, next func(s S, in, out any) []S) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, in, out any) (to []any) {
			for _, s := range next(state.(S), in, out) {
				to = append(to, s)
			}
			return to
		},
		Equal: func(a, b any) bool { return a == b },
	}
	return m.ToModel()
}

// slotRequest is a request for a slot, or its release. token is 0 if it is unknown. expires means that the lease of the
// request with this order may have ended, without a request.
type slotRequest struct {
	owner            string
	release, expires bool
	token            uint64
	order            uint64
}

// slotAnswer is the answer to a request: token of a grant, 0 for a release, or no answer. A refusal is not recorded,
// because a refused request has no effect, and can depend on an outdated read.
type slotAnswer struct {
	answered bool
	token    uint64
}

// owned is a slot of the model. token is 0 if no answer contained it yet.
type owned struct {
	owner        string
	token, order uint64
}

// semaphore is the state of the lock in the model: the owners as text, and the largest known token.
type semaphore struct {
	owners string
	last   uint64
}

func (s semaphore) list() (out []owned) {
	for _, text := range strings.Fields(s.owners) {
		var o owned
		_, _ = fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%s %d %d", &o.owner, &o.token, &o.order)
		out = append(out, o)
	}
	return out
}

func (s semaphore) with(all []owned) semaphore {
	slices.SortFunc(all, func(a, b owned) int { return strings.Compare(a.owner, b.owner) })
	var out []string
	for _, o := range all {
		out = append(out, fmt.Sprintf("%s,%d,%d", o.owner, o.token, o.order))
	}
	s.owners = strings.Join(out, " ")
	return s
}

// expiries returns the ends of leases that may have happened: hubs free a slot when they have seen its last request for
// the lease and the grace, unless a later request was answered before.
func expiries(all operations) (out operations) {
	for _, op := range all {
		r, end := op.Input.(slotRequest), int64(math.MaxInt64)
		for _, later := range all {
			q, a := later.Input.(slotRequest), later.Output.(slotAnswer)
			if q.owner == r.owner && !q.release && q.order > r.order && a.answered {
				end = min(end, later.Return)
			}
		}
		from := op.Call + 2*int64(lease+coordination.Grace)
		if !r.release && from < end {
			out = append(out, porcupine.Operation{ClientId: op.ClientId, Call: from, Return: end, Output: slotAnswer{},
				Input: slotRequest{owner: r.owner, expires: true, order: r.order}})
		}
	}
	return out
}

// lockModel is a semaphore whose slots stay taken until they are released, or until their lease ends. The operations
// that expiries returns end leases.
var lockModel = model(semaphore{}, func(s semaphore, in, out any) (to []semaphore) {
	r, a, all := in.(slotRequest), out.(slotAnswer), s.list()
	i := slices.IndexFunc(all, func(o owned) bool { return o.owner == r.owner })
	if !a.answered {
		to = append(to, s)
	}
	switch {
	case r.expires:
		if i >= 0 && all[i].order == r.order {
			to = append(to, s.with(slices.Delete(all, i, i+1)))
		}
		return to
	case r.release:
		return append(to, released(s, all, i, r)...)
	case i < 0 && len(all) >= slotCount:
		return to
	case i < 0 && a.answered && a.token <= s.last:
		return to
	case i < 0:
		s.last = max(s.last, a.token)
		return append(to, s.with(append(all, owned{r.owner, a.token, r.order})))
	case a.answered && all[i].token != 0 && all[i].token != a.token:
		return to
	}
	all[i].token = max(all[i].token, a.token)
	all[i].order = max(all[i].order, r.order)
	s.last = max(s.last, a.token)
	return append(to, s.with(all))
})

// released returns the states after a release: both if the token of the slot is unknown.
func released(s semaphore, all []owned, i int, r slotRequest) []semaphore {
	if i < 0 || r.order < all[i].order || r.token != 0 && all[i].token != 0 && r.token != all[i].token {
		return []semaphore{s}
	}
	free := s.with(slices.Delete(slices.Clone(all), i, i+1))
	if r.token != 0 && all[i].token == 0 {
		return []semaphore{s, free}
	}
	return []semaphore{free}
}
