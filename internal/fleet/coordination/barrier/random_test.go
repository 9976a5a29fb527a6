package barrier

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHistories plays random requests of targets at hubs whose clocks differ by up to a minute.
func TestHistories(t *testing.T) { rapid.Check(t, playHistory) }

// judge knows the true time and the requests, and no code of the package except the names of values.
type judge struct {
	at      time.Duration
	absent  map[string]Absence // of each member
	arrived map[string]arrival
	opened  map[string]uint64 // by target and run
	newest  map[string]string // run of a target that passed last
	quorum  int               // 0: all
	count   uint64
}

type arrival struct {
	run string
	at  time.Duration
}

const skew = time.Minute // largest difference of two clocks

// fresh returns the number of arrivals that are not older than a time.
func (j *judge) fresh(age time.Duration) (n int) {
	for target, a := range j.arrived {
		_, member := j.absent[target]
		if member && !gone(j.absent[target]) && j.at-a.at < age {
			n++
		}
	}
	return n
}

func gone(a Absence) bool { return a == Retired || a == Revoked || a == Suspect }

// required returns the number of arrivals that are necessary.
func (j *judge) required() int {
	if j.quorum > 0 {
		return j.quorum
	}
	n := 0
	for target, a := range j.absent {
		if _, here := j.arrived[target]; a == "" || here && !gone(a) {
			n++
		}
	}
	return n
}

// least is required without the members that are absent, and whose arrival may have ended.
func (j *judge) least() int {
	if j.quorum > 0 {
		return j.quorum
	}
	n := 0
	for _, a := range j.absent {
		if a == "" {
			n++
		}
	}
	return max(n, 1)
}

type history struct {
	*rapid.T
	state State
	judge judge
	skews []time.Duration
}

func playHistory(t *rapid.T) {
	h := &history{T: t, judge: judge{absent: map[string]Absence{}, arrived: map[string]arrival{},
		opened: map[string]uint64{}, newest: map[string]string{}}}
	for range 3 {
		ms := rapid.IntRange(0, int(skew/time.Millisecond)-1).Draw(t, "skew")
		h.skews = append(h.skews, time.Duration(ms)*time.Millisecond-skew/2)
	}
	h.judge.quorum = rapid.IntRange(0, 3).Draw(t, "quorum")
	text := "all"
	if h.judge.quorum > 0 {
		text = fmt.Sprint(h.judge.quorum)
	}
	for _, m := range []string{"a", "b", "c", "d"} {
		h.judge.absent[m] = ""
	}
	h.decide(Event{Kind: Define, Definition: Definition{Name: "x", Quorum: text}})
	for range rapid.IntRange(10, 80).Draw(t, "steps") {
		h.step()
	}
}

func (h *history) decide(e Event) Answer {
	for target, a := range h.judge.absent {
		e.Members = append(e.Members, Member{target, a})
	}
	now := start + (h.judge.at + rapid.SampledFrom(h.skews).Draw(h.T, "hub")).Milliseconds()
	before := h.state
	next, a := Decide(h.state, e, now)
	if fmt.Sprint(before) != fmt.Sprint(h.state) {
		h.Fatal("Decide modified its state")
	}
	h.state = next
	return a
}

func (h *history) step() {
	j := &h.judge
	j.at += rapid.SampledFrom([]time.Duration{0, time.Millisecond, 10 * time.Second, 40 * time.Second, time.Minute,
		2 * time.Minute, 4 * time.Minute}).Draw(h.T, "time")
	target := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(h.T, "target")
	run := rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(h.T, "run")
	switch rapid.IntRange(0, 15).Draw(h.T, "event") {
	case 0:
		if _, is := j.absent[target]; is {
			j.absent[target] = rapid.SampledFrom([]Absence{"", Frozen, Offline, Retired, Suspect}).Draw(h.T, "absence")
		}
		h.decideAndLook(Event{Kind: Tick})
	case 1:
		h.decideAndLook(Event{Kind: Tick})
	case 2, 3:
		a := h.decideAndLook(Event{Kind: Withdraw, Target: target, Run: run})
		h.same(target, run, a)
		if j.arrived[target].run == run && !a.Open {
			delete(j.arrived, target)
		}
	default:
		h.arrive(target, run)
	}
}

// arrive sends an arrival and compares the answer.
func (h *history) arrive(target, run string) {
	j := &h.judge
	absent, member := j.absent[target]
	passed := j.newest[target] == run
	if !passed && member && !gone(absent) {
		j.arrived[target] = arrival{run, j.at}
	}
	a := h.decideAndLook(Event{Kind: Arrive, Target: target, Run: run})
	h.same(target, run, a)
	switch {
	case passed:
	case !member || gone(absent):
		if a.Refused != NotMember {
			h.Fatalf("%s is not a member and gets %s", target, short(a))
		}
		delete(j.arrived, target)
	case a.Refused != "":
		h.Fatalf("%s is a member and gets %s", target, short(a))
	case !a.Open && j.fresh(ArrivalTime-skew-RenewTime) >= j.required():
		h.Fatalf("%d of %d have arrived, and %s waits: %s", j.fresh(ArrivalTime-skew-RenewTime), j.required(), target,
			short(a))
	}
}

// same compares an answer with earlier answers to the same run. An answer is remembered until another run of the
// target passes, or for PassTime, which these histories do not reach.
func (h *history) same(target, run string, a Answer) {
	was, had := h.judge.opened[target+run]
	if had && h.judge.newest[target] == run && (!a.Open || a.Generation != was) {
		h.Fatalf("%s passed generation %d with the run %s, and gets %s", target, was, run, short(a))
	}
	if a.Open && h.judge.newest[target] != run {
		h.Fatalf("%s did not arrive with the run %s when the generation %d opened", target, run, a.Generation)
	}
}

// decideAndLook compares a generation that opens with the arrivals.
func (h *history) decideAndLook(e Event) Answer {
	j := &h.judge
	a := h.decide(e)
	if h.state.Generation == j.count {
		return a
	}
	j.count++
	if h.state.Generation != j.count {
		h.Fatalf("the generation %d follows %d", h.state.Generation, j.count-1)
	}
	if n := j.fresh(ArrivalTime + skew); n < j.least() {
		h.Fatalf("the generation %d opened with %d arrivals of %d", j.count, n, j.least())
	}
	here := map[string]bool{}
	for _, p := range h.state.Passes {
		if p.Generation == j.count {
			here[p.Target] = true
			if got := j.arrived[p.Target].run; got != p.Run {
				h.Fatalf("%s passes with the run %q, and arrived with %q", p.Target, p.Run, got)
			}
			j.opened[p.Target+p.Run], j.newest[p.Target] = j.count, p.Run
		}
	}
	for target, absent := range j.absent {
		if absent == "" && j.quorum == 0 && !here[target] {
			h.Fatalf("the generation %d opened without %s", j.count, target)
		}
	}
	clear(j.arrived)
	return a
}
