package bus

import "time"

// claim is the value of a lease in the store.
type claim struct {
	Holder string `json:"holder,omitempty"` // "" means that the lease is free
	Fence  uint64 `json:"fence"`            // of the newest holder; it only increases
	Beat   uint64 `json:"beat"`             // increases with each renewal
}

// election decides which process holds a lease, from the events that one process observes. It uses
// one monotonic clock, and never compares times of different hosts. A claim has expired if this
// process has not seen it change for longer than the claim is valid.
//
// A holder measures this time from before it sent its claim. All other processes measure it from
// when they saw the claim, and wait a quarter longer. The holder has therefore stopped before
// another process begins, as long as the speeds of the clocks do not differ by more than that.
type election struct {
	self string
	good time.Duration // how long a claim is valid without a renewal

	looked bool // the store has been read once
	seen   claim
	rev    uint64 // revision of seen
	gone   bool   // the key does not exist and must be created
	since  time.Time

	held  bool
	until time.Time

	asking bool // a write is running
	asked  claim
	at     time.Time
	retry  time.Time // earliest time of the next write
}

// write is a claim that the caller must write if the key has the revision Rev.
type write struct {
	Claim claim
	Rev   uint64
}

// saw records the content of the store. It ignores older revisions than the last one.
func (e *election) saw(c claim, rev uint64, gone bool, now time.Time) {
	if e.looked && rev <= e.rev {
		return
	}
	e.looked, e.rev, e.gone, e.since = true, rev, gone, now
	if gone {
		c = claim{Fence: max(e.seen.Fence, rev)}
	}
	e.seen = c
	if e.held && (c.Holder != e.self || c.Fence != e.asked.Fence) {
		e.held = false
	}
}

// tick returns the claim to write now, or nil, and the latest time of the next call.
func (e *election) tick(now time.Time) (do *write, next time.Time) {
	if e.held && !now.Before(e.until) {
		e.held = false
	}
	begin := e.begin()
	switch {
	case e.asking && e.held:
		return nil, e.until
	case e.asking || !e.looked:
		return nil, now.Add(e.good)
	case now.Before(begin):
		return nil, e.earliest(begin)
	}
	e.asking, e.at, e.asked = true, now, claim{Holder: e.self, Fence: e.seen.Fence, Beat: e.seen.Beat + 1}
	if !e.held {
		e.asked.Fence++
	}
	do = &write{Claim: e.asked, Rev: e.rev}
	if e.gone {
		do.Rev = 0
	}
	return do, e.earliest(now.Add(e.good))
}

// begin returns the earliest time of the next write. The holder renews after a third of the valid
// time. The claim of another process must have expired. A claim with this name is taken over at
// once, since its former holder is dead.
func (e *election) begin() time.Time {
	at := e.since
	switch {
	case e.held:
		at = e.until.Add(-e.good * 2 / 3)
	case e.seen.Holder != "" && e.seen.Holder != e.self:
		at = e.since.Add(e.good * 5 / 4)
	}
	if e.retry.After(at) {
		return e.retry
	}
	return at
}

// earliest returns t, or the end of the lease if it is before t.
func (e *election) earliest(t time.Time) time.Time {
	if e.held && e.until.Before(t) {
		return e.until
	}
	return t
}

// wrote records the result of the write. A write with an error may have succeeded: saw then
// observes it, and compares its fence with the held claim.
func (e *election) wrote(rev uint64, err error, now time.Time) {
	e.asking = false
	if err != nil {
		e.retry = now.Add(e.good / 8)
		return
	}
	e.held = false
	if rev < e.rev {
		return
	}
	e.seen, e.rev, e.gone, e.since = e.asked, rev, false, now
	e.until = e.at.Add(e.good)
	e.held = now.Before(e.until)
}
