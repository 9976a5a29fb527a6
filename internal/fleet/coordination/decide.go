package coordination

import (
	"fmt"
	"slices"
	"time"
)

// EventKind names an input.
type EventKind string

// Kinds of events.
const (
	Define   EventKind = "define"   // the repository declares the lock, or other values of it
	Undefine EventKind = "undefine" // the repository no longer declares the lock
	Acquire  EventKind = "acquire"  // an owner requests a slot, or renews its lease
	Release  EventKind = "release"  // an owner, or an operator, releases the slot of the owner
	Leave    EventKind = "leave"    // the owner left the fleet
	Tick     EventKind = "tick"     // time has passed
)

// Event is a request, or another input of Decide.
type Event struct {
	Kind       EventKind
	Definition Definition // of Define; it must pass Check
	Owner      string     // of Acquire, Release and Leave; it must pass CheckOwner
	Token      uint64     // of Release and Leave: only the slot with this token; 0 means any
	Working    bool       // of Leave: the owner may still work, until its lease ends
	// Related are owners that must not hold a slot at the same time as the owner, of Acquire. The request of an owner with
	// a slot succeeds nevertheless.
	Related []string
	// Order is larger than the Order of all earlier requests of the owner; 0 means unknown. A Release has no effect if
	// the owner sent an Acquire later.
	Order uint64
	// Observed is the time for which the hub has seen the newest lease of each owner unchanged. A clock that does not
	// jump measures it. If it is nil, only the wall clock decides whether a lease ended.
	Observed map[string]time.Duration
	// Restored is the time at which the fleet was restored from a backup, in ms since 1970; 0 means never.
	Restored int64
}

// ChangeKind names an effect, for the log of the fleet.
type ChangeKind string

// Kinds of changes.
const (
	Defined  ChangeKind = "defined"
	Removed  ChangeKind = "undefined"
	Acquired ChangeKind = "acquired"
	Renewed  ChangeKind = "renewed"
	Released ChangeKind = "released"
	Overdue  ChangeKind = "overdue" // the lease ended, and the slot remains taken
	Expired  ChangeKind = "expired" // the slot is free, because the lease ended
	Waits    ChangeKind = "waits"   // the request of an owner was refused; of the holder, only Owner is set
)

// Change is an effect of an event.
type Change struct {
	Kind   ChangeKind
	Holder Holder // unless Kind is Defined or Removed
}

// Refusal is the cause of an answer without success; "" means success.
type Refusal string

// Causes of refusals.
const (
	Full       Refusal = "full"       // all slots are taken
	Related    Refusal = "related"    // a related owner has a slot
	Undeclared Refusal = "undeclared" // the repository no longer declares the lock
	Recovering Refusal = "recovering" // the fleet was restored a moment ago, and the holders may be unknown
)

// Answer is the result of an event.
type Answer struct {
	Refused Refusal
	// Holder is the slot of the owner after a successful Acquire.
	Holder
	// Opens is the end of Recovering, in ms since 1970.
	Opens   int64
	Blocker string // of Related: the owner that has a slot
	Changes []Change
}

// Decide returns the state after an event, and the answer. now is in ms since 1970.
func Decide(s State, e Event, now int64) (State, Answer) {
	d := decision{State: s, now: now, observed: e.Observed}
	d.Holders, d.Lost = slices.Clone(s.Holders), slices.Clone(s.Lost)
	d.expire()
	switch e.Kind {
	case Define:
		d.define(e.Definition)
	case Undefine:
		if !d.Undeclared {
			d.Undeclared = true
			d.change(Removed, Holder{})
		}
	case Acquire:
		d.acquire(e)
	case Release:
		d.release(e)
	case Leave:
		d.leave(e)
	}
	return d.State, d.answer
}

// decision is a state on its way to the next one.
type decision struct {
	State
	now      int64
	observed map[string]time.Duration
	answer   Answer
}

func (d *decision) change(k ChangeKind, h Holder) {
	d.answer.Changes = append(d.answer.Changes, Change{k, h})
}

// expire frees the slots whose leases ended, if the lock allows that. Otherwise it records the end once.
func (d *decision) expire() {
	for i, h := range d.Holders {
		if !d.Frees() && h.Overdue(d.now) && !h.Ended {
			d.Holders[i].Ended = true
			d.change(Overdue, d.Holders[i])
		}
	}
	if !d.Frees() {
		return
	}
	for _, h := range d.Holders {
		if d.over(h) {
			d.Lost = append(d.Lost, h)
			d.change(Expired, h)
		}
	}
	d.Holders = slices.DeleteFunc(d.Holders, d.over)
	d.Lost = d.Lost[max(0, len(d.Lost)-MaxLost):]
}

// over reports whether another owner can take the slot of a holder, because its lease ended one Grace ago. A hub that
// saw the lease without a change for this time is sure, although its clock jumped. For a long lease, it also trusts its
// clock after MaxObserved: hubs start again more often.
func (d *decision) over(h Holder) bool {
	ended := h.Overdue(d.now - Grace.Milliseconds())
	if d.observed == nil {
		return ended
	}
	seen, lease := d.observed[h.Owner], time.Duration(h.Expires-h.Renewed)*time.Millisecond
	return seen >= lease+Grace || ended && seen >= MaxObserved
}

func (d *decision) define(want Definition) {
	if d.Definition != want || d.Undeclared {
		d.Definition, d.Undeclared = want, false
		d.change(Defined, Holder{})
	}
}

func (d *decision) acquire(e Event) {
	opens := e.Restored + d.Lease.Milliseconds()
	i := d.find(e.Owner)
	switch {
	case e.Restored > 0 && d.now < opens:
		d.answer.Opens = opens
		d.refuse(Recovering, e.Owner)
	case i >= 0 && d.Holders[i].Since < e.Restored:
		// Later grants may be lost, so the old token may no longer be the largest one.
		d.Holders = slices.Delete(d.Holders, i, i+1)
		d.grant(e)
	case i >= 0:
		h := &d.Holders[i]
		h.Renewed, h.Expires, h.Ended, h.Order = d.now, d.now+d.Lease.Milliseconds(), false, max(h.Order, e.Order)
		d.change(Renewed, *h)
		d.answer.Holder = *h
		d.Waiters = without(d.Waiters, e.Owner)
	case d.Undeclared:
		d.answer.Refused = Undeclared
	case d.related(e) != "":
		d.answer.Blocker = d.related(e)
		d.refuse(Related, e.Owner)
	case len(d.Holders) >= d.Slots:
		d.refuse(Full, e.Owner)
	default:
		d.grant(e)
	}
}

// related returns a related owner with a slot, or "".
func (d *decision) related(e Event) string {
	for _, h := range d.Holders {
		if h.Owner != e.Owner && slices.Contains(e.Related, h.Owner) {
			return h.Owner
		}
	}
	return ""
}

// refuse refuses the request of an owner, which waits afterwards.
func (d *decision) refuse(why Refusal, owner string) {
	d.answer.Refused = why
	waiters, changed := refused(d.Waiters, owner, d.now)
	if d.Waiters = waiters; changed {
		d.change(Waits, Holder{Owner: owner})
	}
}

func (d *decision) grant(e Event) {
	owner := e.Owner
	d.Last = max(d.Last+1, uint64(max(d.now, 0)))
	h := Holder{Owner: owner, Token: d.Last, Order: e.Order, Since: d.now, Renewed: d.now,
		Expires: d.now + d.Lease.Milliseconds()}
	d.Holders = append(d.Holders, h)
	d.Lost = slices.DeleteFunc(d.Lost, func(h Holder) bool { return h.Owner == owner })
	d.Waiters = without(d.Waiters, owner)
	d.change(Acquired, h)
	d.answer.Holder = h
}

// release frees the slot of an owner. The owner is then no longer a former holder: the host has returned, or an
// operator has dealt with the problem.
func (d *decision) release(e Event) {
	meant := func(h Holder) bool {
		return h.Owner == e.Owner && (e.Token == 0 || e.Token == h.Token) && (e.Order == 0 || e.Order > h.Order)
	}
	if i := slices.IndexFunc(d.Holders, meant); i >= 0 {
		d.change(Released, d.Holders[i])
		d.Holders = slices.Delete(d.Holders, i, i+1)
	}
	d.Lost = slices.DeleteFunc(d.Lost, meant)
	if e.Token == 0 {
		d.Waiters = without(d.Waiters, e.Owner)
	}
}

// leave frees the slot of an owner that cannot release it any more. If it may still work, the slot remains taken until
// its lease has ended, with both values of OnExpiry.
func (d *decision) leave(e Event) {
	d.Waiters = without(d.Waiters, e.Owner)
	i := d.find(e.Owner)
	if i < 0 || !e.Working || d.over(d.Holders[i]) {
		d.release(e)
	}
}

func (d *decision) find(owner string) int {
	return slices.IndexFunc(d.Holders, func(h Holder) bool { return h.Owner == owner })
}

// Explain returns the cause of a refusal for an operator.
func (a Answer) Explain(s State) string {
	switch a.Refused {
	case Full:
		if s.Slots == 1 {
			return fmt.Sprintf("the slot of the lock %s is taken", s.Name)
		}
		return fmt.Sprintf("all %d slots of the lock %s are taken", s.Slots, s.Name)
	case Related:
		return fmt.Sprintf("%s has a slot of the lock %s, and must not use it at the same time", a.Blocker, s.Name)
	case Undeclared:
		return fmt.Sprintf("the repository no longer declares the lock %s", s.Name)
	case Recovering:
		return fmt.Sprintf("the fleet was restored from a backup, so hubs may not know all holders of the lock %s. "+
			"It grants slots again at %s", s.Name, time.UnixMilli(a.Opens).UTC().Format(time.RFC3339))
	}
	return ""
}
