package coordination

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"fettle.dev/fettle/internal/fleet"
)

// barrierRequest is a request about a barrier. expires means that the arrival may have ended, without a request.
type barrierRequest struct {
	host              int
	run               string
	withdraw, expires bool
}

// barrierAnswer is the answer: the generation that opened, or 0.
type barrierAnswer struct {
	answered   bool
	generation uint64
}

// gathered is the state of a barrier in the model: the runs that wait, and the last run that passed, by host.
type gathered struct {
	generation uint64
	waits      string // "1=RUN 2=RUN"
	passed     string // "1=RUN,GENERATION"
}

func table(text string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Fields(text) {
		key, value, _ := strings.Cut(part, "=")
		out[key] = value
	}
	return out
}

func text(t map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		out = append(out, key+"="+t[key])
	}
	return strings.Join(out, " ")
}

// barrierModel is a barrier that opens if so many hosts wait.
func barrierModel(required int) porcupine.Model {
	return model(gathered{}, func(s gathered, in, out any) (to []gathered) {
		r, a := in.(barrierRequest), out.(barrierAnswer)
		host, waits, passed := fmt.Sprint(r.host), table(s.waits), table(s.passed)
		run, generation, _ := strings.Cut(passed[host], ",")
		mine := run == r.run
		if a.answered && a.generation > 0 && mine {
			if generation == fmt.Sprint(a.generation) {
				return []gathered{s}
			}
			return nil
		}
		// A request without an answer may have no effect. A repetition that is answered by an outdated read has none, and
		// so has a request that is outdated itself.
		if !a.answered || a.generation == 0 && !r.withdraw {
			to = append(to, s)
		}
		switch {
		case mine:
			return to
		case r.withdraw || r.expires:
			if waits[host] == r.run {
				delete(waits, host)
			}
			if a.generation > 0 {
				return to
			}
			s.waits = text(waits)
			return append(to, s)
		}
		waits[host] = r.run
		opens := len(waits) >= required
		if opens {
			s.generation++
			for host, run := range waits {
				passed[host] = fmt.Sprintf("%s,%d", run, s.generation)
			}
			s.passed = text(passed)
			clear(waits)
		}
		s.waits = text(waits)
		if !a.answered || opens && a.generation == s.generation || !opens && a.generation == 0 {
			to = append(to, s)
		}
		return to
	})
}

// gap is the time without an answer after which an arrival may have ended, and expiry the time within which it ends.
// Hubs that start measure the time again.
const (
	gap    = 50 * time.Second
	expiry = 10 * time.Minute
)

// recordWait records a request of a wait with its answer. b.mu is not held.
func (b *barrierHistory) recordWait(w *waited, q fleet.WaitRequest, sent time.Duration, a fleet.WaitAnswer,
	answered bool) {
	in := barrierRequest{host: w.host, run: q.Run, withdraw: q.Action == fleet.WaitWithdraw}
	if sent-w.heard >= gap {
		b.mayExpire(w, sent)
	}
	if answered {
		w.heard = b.at()
	}
	b.record(w.host, in, barrierAnswer{answered, a.Generation}, sent, answered)
}

// mayExpire records that the arrival of a wait may end between its last answer and a time.
func (b *barrierHistory) mayExpire(w *waited, until time.Duration) {
	in := barrierRequest{host: w.host, run: w.run, expires: true}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.operations = append(b.operations, porcupine.Operation{ClientId: w.host, Input: in, Output: barrierAnswer{},
		Call: 2 * int64(w.heard), Return: 2*int64(until) + 1})
}
