package coordination

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHistories plays random requests of owners at hubs whose clocks differ.
func TestHistories(t *testing.T) { rapid.Check(t, playHistory) }

// history is a lock with several hubs. Each hub decides with its own clock.
type history struct {
	*rapid.T
	state  State
	at     time.Duration
	skews  []time.Duration
	judge  judge
	tokens map[string][]uint64 // of all grants, by owner
}

func playHistory(t *rapid.T) {
	expiry := rapid.SampledFrom([]OnExpiry{Keep, Free}).Draw(t, "expiry")
	h := &history{T: t, tokens: map[string][]uint64{}, judge: judge{free: expiry == Free,
		owners: map[string]claim{}, waiting: waits{}}}
	for range 3 {
		skew := rapid.IntRange(0, int(Grace/time.Millisecond)-1).Draw(t, "skew")
		h.skews = append(h.skews, time.Duration(skew)*time.Millisecond-Grace/2)
	}
	h.define(expiry)
	for range rapid.IntRange(10, 60).Draw(t, "steps") {
		h.step(expiry)
		if len(h.judge.broken) > 0 {
			t.Fatal(strings.Join(h.judge.broken, "\n"))
		}
	}
}

func (h *history) step(expiry OnExpiry) {
	h.wait()
	switch rapid.IntRange(0, 19).Draw(h.T, "event") {
	case 0:
		h.define(expiry)
	case 1:
		h.decide(Event{Kind: Undefine})
		h.judge.gone = true
	case 2:
		h.decide(Event{Kind: Tick})
	case 3, 4, 5:
		h.release()
	case 6:
		h.leave()
	default:
		h.acquire()
	}
	now := h.now()
	h.judge.waiting.compare(h.at, h.state.Waiting(now), h.judge.failf)
}

// wait lets some time pass. It often ends near the end of a lease.
func (h *history) wait() {
	next := []time.Duration{h.at, h.at + time.Millisecond, h.at + time.Second, h.at + 20*time.Second,
		h.at + 3*time.Minute}
	for _, owner := range slices.Sorted(maps.Keys(h.judge.owners)) {
		c := h.judge.owners[owner]
		for _, more := range []time.Duration{-time.Second, 0, 20 * time.Second, Grace, 2 * Grace} {
			if at := c.asked + c.lease + more; at > h.at {
				next = append(next, at)
			}
		}
	}
	h.at = rapid.SampledFrom(next).Draw(h.T, "time")
}

func (h *history) decide(e Event) (a Answer) {
	h.state, a = Decide(h.state, e, h.now())
	return a
}

// now is the time of a hub.
func (h *history) now() int64 {
	return start + (h.at + rapid.SampledFrom(h.skews).Draw(h.T, "hub")).Milliseconds()
}

func (h *history) define(expiry OnExpiry) {
	d := Definition{Name: "reboots", Slots: rapid.IntRange(1, 4).Draw(h.T, "slots"), OnExpiry: expiry,
		Lease: rapid.SampledFrom([]time.Duration{2 * time.Minute, 5 * time.Minute}).Draw(h.T, "lease")}
	h.decide(Event{Kind: Define, Definition: d})
	h.judge.slots, h.judge.lease, h.judge.gone = d.Slots, d.Lease, false
}

func (h *history) owner() string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(h.T, "owner")
}

func (h *history) acquire() {
	owner := h.owner()
	var related []string
	for _, other := range []string{"a", "b", "c", "d", "e"} {
		if above(owner, other) || above(other, owner) {
			related = append(related, other)
		}
	}
	a := h.decide(Event{Kind: Acquire, Owner: owner, Related: related})
	h.judge.acquired(owner, h.at, string(a.Refused), a.Token)
	h.judge.waiting.asked(owner, h.at, string(a.Refused))
	if a.Refused == "" {
		h.tokens[owner] = append(h.tokens[owner], a.Token)
	}
}

// release sends a release without a token, or with any token that the owner ever had.
func (h *history) release() {
	owner := h.owner()
	token := rapid.SampledFrom(append([]uint64{0}, h.tokens[owner]...)).Draw(h.T, "token")
	h.decide(Event{Kind: Release, Owner: owner, Token: token})
	h.judge.released(owner, token)
	if token == 0 {
		delete(h.judge.waiting, owner)
	}
}

// leave removes an owner from the fleet.
func (h *history) leave() {
	owner, working := h.owner(), rapid.Bool().Draw(h.T, "working")
	h.decide(Event{Kind: Leave, Owner: owner, Working: working})
	has := slices.ContainsFunc(h.state.Holders, func(o Holder) bool { return o.Owner == owner })
	h.judge.left(owner, h.at, working, !has)
	delete(h.judge.waiting, owner)
}
