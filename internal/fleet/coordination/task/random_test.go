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
	permitted map[string]int  // further successes: by decisions of users, after losses with RetryAgain, and after undos
	decided   map[string]bool // digests about which a user decided
	undo      *Definition     // that is declared
	removed   bool
	removals  int  // of the task, with an undo
	lied      bool // a user set a result, which can be wrong
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

// undoOf is the digest of the undo.
const undoOf = "undo"

// remove removes the task from the repository.
func (h *history) remove() {
	if !h.removed && h.undo != nil {
		h.removals++
		if h.permitted[undoOf]++; h.undo.OnUnknown == RetryAgain {
			h.permitted[undoOf] += 1000
		}
	}
	h.removed = true
	h.decide(Event{Kind: Undefine})
}

func (h *history) define() {
	digest := rapid.SampledFrom([]string{"a", "b"}).Draw(h.T, "digest")
	d := Definition{Digest: digest, Timeout: 2 * time.Minute, Retries: rapid.IntRange(0, 2).Draw(h.T, "retries"),
		RetryAfter: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(h.T, "pause"),
		Verifiable: rapid.Bool().Draw(h.T, "verifiable"),
		OnUnknown:  rapid.SampledFrom([]OnUnknown{Verify, Ask, RetryAgain}).Draw(h.T, "on_unknown")}
	h.declared, h.removed, h.undo = d, false, nil
	if rapid.IntRange(0, 3).Draw(h.T, "undo") > 0 {
		h.undo = &Definition{Digest: undoOf, Timeout: 2 * time.Minute,
			Retries:    rapid.IntRange(0, 1).Draw(h.T, "undo retries"),
			Verifiable: rapid.Bool().Draw(h.T, "undo verifiable"),
			OnUnknown:  rapid.SampledFrom([]OnUnknown{Verify, Ask, RetryAgain}).Draw(h.T, "undo on_unknown")}
	}
	if d.OnUnknown == RetryAgain {
		h.permitted[digest] += 1000
	}
	h.decide(Event{Kind: Define, Scope: "cluster/x", Task: "load", Definition: d, Undo: h.undo})
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
		if rapid.IntRange(0, 2).Draw(h.T, "removes") == 0 {
			h.remove()
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
	open, digest := h.state.Open != nil, h.state.Current().Digest
	e := Event{Kind: kind, By: "kim", Done: rapid.Bool().Draw(h.T, "done")}
	if a := h.decide(e); open && a.Refused != IsOpen && a.Refused != NoTask {
		h.Fatalf("a user decides during an attempt: %+v", a)
	} else if a.Refused == "" {
		h.permitted[digest]++
		if digest == undoOf { // the contents can be done again
			h.permitted["a"], h.permitted["b"] = h.permitted["a"]+1, h.permitted["b"]+1
		}
		h.decided[digest] = true
		h.lied = h.lied || kind == Resolve
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
	switch {
	case h.removed && h.undo == nil:
		h.Fatalf("a task that was removed without an undo begins: %+v", a.Attempt)
	case h.removed != a.Attempt.Undo:
		h.Fatalf("the task was removed: %v, and its undo begins: %+v", h.removed, a.Attempt)
	case a.Attempt.Undo && a.Attempt.Digest != undoOf || !a.Attempt.Undo && a.Attempt.Digest != h.declared.Digest:
		h.Fatalf("content begins that is not declared: %+v", a.Attempt)
	case a.Attempt.Undo && !h.commanded():
		h.Fatalf("an undo begins although no command of the task began: %+v", h.state)
	}
	h.fence = a.Attempt.Fence
	h.all = append(h.all, &execution{Attempt: *a.Attempt})
}

// commanded reports whether a command of the task or of its undo may have begun, as far as the hubs know.
func (h *history) commanded() bool {
	for _, x := range h.all {
		if x.commanded || !x.Undo && !x.VerifyOnly && !x.reported { // an undo that began continues
			return true
		}
	}
	return h.lied
}

// holds reports whether the condition of an attempt holds. The condition of an undo is that no content has an effect.
func (h *history) holds(x *execution) bool {
	if x.Undo {
		return len(h.effect) == 0
	}
	return h.effect[x.Digest]
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
	case h.verifiable(x) && h.holds(x):
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

func (h *history) verifiable(x *execution) bool {
	if x.Undo {
		return x.VerifyOnly || h.undo != nil && h.undo.Verifiable
	}
	return x.VerifyOnly || h.declared.Verifiable
}

// finish ends a command: it succeeds, fails without an effect, or the target dies after or before the effect.
func (h *history) finish(x *execution, how int) {
	x.ended = true
	if how == 0 || how == 2 {
		h.successes[x.Digest]++
		if x.Undo { // all contents can be done again
			clear(h.effect)
			h.permitted["a"], h.permitted["b"] = h.permitted["a"]+1, h.permitted["b"]+1
		} else {
			h.effect[x.Digest] = true
		}
		allowed := 1 + h.permitted[x.Digest]
		if x.Undo {
			allowed = h.permitted[undoOf]
		}
		if n := h.successes[x.Digest]; n > allowed {
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
	if h.removed {
		h.judgeRemoved()
		return
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

// judgeRemoved compares the state of a task that was removed with the truth: it is undone, or a user must decide.
func (h *history) judgeRemoved() {
	i, asks := h.state.Instance(), false
	for _, is := range h.state.Instances {
		asks = asks || is.Ask
	}
	switch p := h.state.Phase(); {
	case h.undo == nil || h.lied:
	case h.state.Open != nil && p != Claimed:
		h.Fatalf("an attempt without a target is open: %+v", h.state)
	case h.state.Unfinished() && !asks && p != Failed && h.state.Open == nil:
		h.Fatalf("nothing decides about the undo: %+v", h.state)
	case len(h.effect) > 0 && !h.state.Unfinished():
		h.Fatalf("the task has an effect, and nothing undoes it: %v, %+v", h.effect, h.state)
	case h.state.Undoing && i.Phase == Done && len(h.effect) > 0:
		h.Fatalf("it is undone, and has an effect: %+v", h.state)
	}
}

// wasReported reports whether the success of a content reached the hubs, and neither a user decided nor an undo began
// afterwards.
func (h *history) wasReported(digest string) bool {
	undo := h.state.Undone
	for _, x := range h.all {
		if x.Undo {
			undo = max(undo, x.Fence)
		}
	}
	for _, x := range h.all {
		if x.Digest == digest && x.reported && x.outcome == fleet.TaskDone && !h.decided[digest] && x.Fence > undo {
			return true
		}
	}
	return false
}
