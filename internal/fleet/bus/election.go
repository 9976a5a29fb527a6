package bus

import "time"

// claim is what stands in the store about a lease.
type claim struct {
	Holder string `json:"holder,omitempty"` // "" is nobody
	Fence  uint64 `json:"fence"`            // of the newest holder; it only rises
	Beat   uint64 `json:"beat"`             // rises with each renewal
}

// election decides who holds a lease, from what one process sees. It takes times from
// one monotonic clock, and never compares them with those of another machine: a claim is
// over when it did not change for longer than it is good for, as seen from here.
//
// A holder counts from before it asked for its claim, and all others from when they saw
// it, and for a quarter longer. So it has stopped before anybody else begins, as long as
// the clocks do not differ by more than that in how fast they go.
type election struct {
	self string
	good time.Duration // how long a claim is good without a renewal

	looked bool // the store was seen once
	seen   claim
	rev    uint64 // of seen
	gone   bool   // the key is not there: it has to be made
	since  time.Time

	held  bool
	until time.Time

	asking bool // a write is under way
	asked  claim
	at     time.Time
	retry  time.Time // no write before
}

// write is what the driver is to write, if the key is at Rev.
type write struct {
	Claim claim
	Rev   uint64
}

// saw takes what the store has. What is older than what is known is ignored.
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

// tick tells what is to be written now, if anything, and when to ask again at the
// latest.
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

// begin is when the next write may begin: a renewal after a third, another's claim when
// it is over, and one's own at once, since a holder of this name before is dead.
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

// earliest is a time, or when the lease ends if that is before.
func (e *election) earliest(t time.Time) time.Time {
	if e.held && e.until.Before(t) {
		return e.until
	}
	return t
}

// wrote takes how the write ended. One that failed may have been made all the same: what
// the store then has is seen, and told from what is held by its number.
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
