package task

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
)

// TestHistories plays hubs whose clocks differ by up to a minute, and targets that die, lose messages and answer late.
func TestHistories(t *testing.T) { rapid.Check(t, playHistory) }

// skew is the largest difference of the clock of a hub or a target from the true time.
const skew = 20 * time.Second

// execution is the true life of one attempt on its target.
type execution struct {
	Attempt
	delivered, begun, ended, reported bool
	at                                time.Duration // of the begin
	outcome                           fleet.TaskOutcome
	commanded                         bool // the command began
}

// history is a fleet with one task. The judge is in its true values, which no code of the package knows.
type history struct {
	*rapid.T
	state     State
	former    State // of a hub that led before
	at        time.Duration
	all       []*execution
	declared  Definition
	effect    map[string]bool // digests whose command succeeded
	successes map[string]int
	permitted map[string]int  // further successes: by decisions of users, and after losses with RetryAgain
	decided   map[string]bool // digests about which a user decided
	fence     uint64
}

func playHistory(t *rapid.T) {
	h := &history{T: t, effect: map[string]bool{}, successes: map[string]int{}, permitted: map[string]int{},
		decided: map[string]bool{}}
	h.define()
	for range rapid.IntRange(10, 80).Draw(t, "steps") {
		h.step()
	}
	h.quiet()
}

func (h *history) define() {
	digest := rapid.SampledFrom([]string{"a", "b"}).Draw(h.T, "digest")
	d := Definition{Digest: digest, Timeout: 2 * time.Minute, Retries: rapid.IntRange(0, 2).Draw(h.T, "retries"),
		RetryAfter: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(h.T, "pause"),
		Verifiable: rapid.Bool().Draw(h.T, "verifiable"),
		OnUnknown:  rapid.SampledFrom([]OnUnknown{Verify, Ask, RetryAgain}).Draw(h.T, "on_unknown")}
	h.declared = d
	if d.OnUnknown == RetryAgain {
		h.permitted[digest] += 1000
	}
	h.decide(Event{Kind: Define, Scope: "cluster/x", Task: "load", Definition: d})
}

// now returns the clock of a hub.
func (h *history) now() int64 {
	return start + (h.at + rapid.SampledFrom([]time.Duration{-skew, 0, skew}).Draw(h.T, "hub")).Milliseconds()
}

// decide applies an event to the stored state. The decision of a former leader with an outdated state is not stored.
func (h *history) decide(e Event) Answer {
	now := h.now()
	if rapid.IntRange(0, 9).Draw(h.T, "outdated") == 0 {
		Decide(h.former, e, now)
	}
	text, err := json.Marshal(h.state)
	if err != nil {
		h.Fatal(err)
	}
	next, a := Decide(h.state, e, now)
	after, err := json.Marshal(h.state)
	if err != nil || string(after) != string(text) {
		h.Fatalf("Decide modified its state: %s, %s", text, after)
	}
	var read State
	text, err = json.Marshal(next)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || !reflect.DeepEqual(read, next) {
		h.Fatalf("the state is read as %+v instead of %+v: %v", read, next, err)
	}
	if len(a.Changes) == 0 && !reflect.DeepEqual(h.state.Open, next.Open) {
		h.Fatalf("%+v changes the open attempt without a change: %+v", e, next)
	}
	h.former, h.state = h.state, read
	return a
}

func (h *history) step() {
	h.at += rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, time.Second, 15 * time.Second, time.Minute,
		5 * time.Minute}).Draw(h.T, "time")
	for _, x := range h.all {
		h.advance(x)
	}
	switch rapid.IntRange(0, 15).Draw(h.T, "event") {
	case 0:
		if rapid.IntRange(0, 2).Draw(h.T, "defines") == 0 {
			h.define()
		}
	case 1:
		if rapid.IntRange(0, 2).Draw(h.T, "user") == 0 {
			h.user()
		}
	case 2, 3:
		h.decide(Event{Kind: Tick})
	case 4, 5, 6:
		h.begin()
	case 7: // the target is lost or slow, and the hubs continue
		h.at += rapid.SampledFrom([]time.Duration{75 * time.Second, 10 * time.Minute}).Draw(h.T, "silence")
		h.decide(Event{Kind: Tick})
		h.at += 15 * time.Second
		if h.begin(); len(h.all) > 0 {
			h.move(h.all[len(h.all)-1])
		}
	case 8:
		if len(h.all) > 0 {
			h.move(rapid.SampledFrom(h.all).Draw(h.T, "attempt"))
		}
	default:
		if len(h.all) > 0 {
			h.move(h.all[len(h.all)-1])
		}
	}
}

// user decides. A user who decides takes the risk of another execution.
func (h *history) user() {
	kind := rapid.SampledFrom([]EventKind{Retry, Resolve}).Draw(h.T, "decision")
	open := h.state.Open != nil
	e := Event{Kind: kind, By: "kim", Done: rapid.Bool().Draw(h.T, "done")}
	if a := h.decide(e); open && a.Refused != IsOpen {
		h.Fatalf("a user decides during an attempt: %+v", a)
	} else if a.Refused == "" {
		h.permitted[h.declared.Digest]++
		h.decided[h.declared.Digest] = true
	}
}

func (h *history) begin() {
	target := rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(h.T, "target")
	open := h.state.Open
	a := h.decide(Event{Kind: Begin, Target: target, Name: target, Limit: time.Minute})
	if a.Attempt == nil {
		return
	}
	if open != nil {
		h.Fatalf("%+v begins while %+v is open", a.Attempt, open)
	}
	if a.Attempt.Fence <= h.fence {
		h.Fatalf("the fence %d follows %d", a.Attempt.Fence, h.fence)
	}
	if a.Attempt.Digest != h.declared.Digest {
		h.Fatalf("content begins that is not declared: %+v", a.Attempt)
	}
	h.fence = a.Attempt.Fence
	h.all = append(h.all, &execution{Attempt: *a.Attempt})
}

// move delivers the attempt to its target, or the result to the hubs. Both can happen late, or never.
func (h *history) move(x *execution) {
	switch {
	case !x.delivered:
		x.delivered = true
		clock := start + (h.at + rapid.SampledFrom([]time.Duration{-skew, 0, skew}).Draw(h.T, "clock")).Milliseconds()
		if clock >= x.Expires || rapid.IntRange(0, 9).Draw(h.T, "refuses") == 0 {
			x.ended, x.outcome = true, fleet.TaskRefused
			return
		}
		x.begun, x.at = true, h.at
		h.execute(x)
	case x.begun && !x.ended && rapid.Bool().Draw(h.T, "accepts"):
		h.decide(Event{Kind: Accept, Fence: x.Fence})
	case x.begun && !x.ended:
		h.finish(x, rapid.IntRange(0, 3).Draw(h.T, "end"))
	case x.ended && !x.reported:
		h.decide(Event{Kind: End, Fence: x.Fence, Outcome: x.outcome, Text: "why"})
		x.reported = rapid.Bool().Draw(h.T, "reported") // otherwise the target repeats it
	}
}

// execute begins an attempt: the target first tests the condition, which tells the truth.
func (h *history) execute(x *execution) {
	switch {
	case h.verifiable(x) && h.effect[x.Digest]:
		x.ended, x.outcome = true, fleet.TaskVerified
	case x.VerifyOnly:
		x.ended, x.outcome = true, fleet.TaskNotDone
	default:
		for _, o := range h.all {
			h.advance(o)
			if o != x && o.commanded && !o.ended {
				h.Fatalf("two commands run at the same time: %+v, %+v", o, x)
			}
		}
		x.commanded = true
	}
}

func (h *history) verifiable(x *execution) bool { return x.VerifyOnly || h.declared.Verifiable }

// finish ends a command: it succeeds, fails without an effect, or the target dies after or before the effect.
func (h *history) finish(x *execution, how int) {
	x.ended = true
	if how == 0 || how == 2 {
		h.effect[x.Digest] = true
		h.successes[x.Digest]++
		if n := h.successes[x.Digest]; n > 1+h.permitted[x.Digest] {
			h.Fatalf("the content %s was done %d times: %+v", x.Digest, n, h.state)
		}
	}
	x.outcome = []fleet.TaskOutcome{fleet.TaskDone, fleet.TaskFailed, "", ""}[how]
}

// advance kills a command at its timeout, by the monotonic clock of the target.
func (h *history) advance(x *execution) {
	if x.commanded && !x.ended && h.at >= x.at+2*time.Minute {
		x.ended, x.outcome = true, fleet.TaskFailed
	}
}

// quiet delivers all results. Afterwards the state must know the truth, or ask a user.
func (h *history) quiet() {
	for range 50 {
		h.at += 10 * time.Minute
		for _, x := range h.all {
			h.advance(x)
			for i := 0; i < 9 && !x.reported; i++ {
				h.move(x)
			}
		}
		h.decide(Event{Kind: Tick})
		h.begin()
		for _, x := range h.all {
			if !x.delivered {
				h.move(x)
			}
		}
	}
	i := h.state.Instance()
	switch p := h.state.Phase(); {
	case h.state.Open != nil && p != Claimed:
		h.Fatalf("an attempt without a target is open: %+v", h.state)
	case p == Unknown && !i.Ask:
		h.Fatalf("nothing decides the unknown result: %+v", h.state)
	case p == Done && !h.effect[i.Digest] && i.By == "":
		h.Fatalf("it is done without an effect: %+v", h.state)
	case p == Failed && i.By == "" && h.wasReported(i.Digest):
		h.Fatalf("it failed, and a target reported that it is done: %+v", h.state)
	}
	if fmt.Sprint(h.state.Digest) != h.declared.Digest {
		h.Fatalf("another content is declared: %+v", h.state)
	}
}

// wasReported reports whether the success of a content reached the hubs, and no user decided afterwards.
func (h *history) wasReported(digest string) bool {
	for _, x := range h.all {
		if x.Digest == digest && x.reported && x.outcome == fleet.TaskDone && !h.decided[digest] {
			return true
		}
	}
	return false
}
