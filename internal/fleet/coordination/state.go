package coordination

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of locks.
const (
	MaxLocks  = 200  // of a fleet
	MaxSlots  = 1000 // of a lock
	MaxOwner  = 128  // bytes
	MaxReason = 500  // bytes
	MinLease  = 10 * time.Second
	MaxLease  = 30 * 24 * time.Hour
	MaxWait   = 24 * time.Hour
	// MaxLost is the number of former holders that a state contains.
	MaxLost = 100
	// Grace is the time between the end of a lease and the moment at which another owner can take the slot. It is the
	// allowed difference between the clocks of hubs.
	Grace = time.Minute
	// MaxObserved is the time for which a hub must have seen a longer lease without a change, before it frees the slot.
	MaxObserved = time.Hour
)

// OnExpiry is the effect of a lease that ended without a release. The zero value is Keep.
type OnExpiry string

// Effects of the end of a lease.
const (
	Keep OnExpiry = "keep" // the slot remains taken until the holder or an operator releases it
	Free OnExpiry = "free" // another owner can take the slot
)

// Definition contains the values of a lock in the repository.
type Definition struct {
	Name     string        `json:"name"`
	Slots    int           `json:"slots"`
	Lease    time.Duration `json:"lease_ns"`
	OnExpiry OnExpiry      `json:"on_expiry,omitempty"`
	// Reboots means that a target needs a slot for a reboot.
	Reboots bool `json:"reboots,omitempty"`
	// Wait is the time for which a run waits for a slot; 0 is the default.
	Wait time.Duration `json:"wait_ns,omitempty"`
	// AlarmAfter is the time for which an owner waits before an alarm is raised; 0 means no alarm.
	AlarmAfter time.Duration `json:"alarm_after_ns,omitempty"`
}

// Frees reports whether the end of a lease frees the slot.
func (d Definition) Frees() bool { return d.OnExpiry == Free }

// Holder is an owner that holds a slot, or that lost it.
type Holder struct {
	Owner string `json:"owner"`
	Token uint64 `json:"token"`
	// Order is the order of the newest Acquire; 0 means unknown.
	Order uint64 `json:"order,omitempty"`
	// Since, Renewed and Expires are the times of the grant, of the last renewal and of the end of the lease,
	// in ms since 1970.
	Since   int64 `json:"since"`
	Renewed int64 `json:"renewed"`
	Expires int64 `json:"expires"`
	// Ended means that the end of the lease was recorded.
	Ended bool `json:"ended,omitempty"`
}

// Overdue reports whether the lease ended.
func (h Holder) Overdue(now int64) bool { return now >= h.Expires }

// State contains all that hubs remember of one lock. Decide does not modify it.
type State struct {
	Definition
	// Undeclared means that the repository no longer declares the lock.
	Undeclared bool     `json:"undeclared,omitempty"`
	Holders    []Holder `json:"holders,omitempty"` // in the order of their grants
	Lost       []Holder `json:"lost,omitempty"`    // former holders whose lease ended, in the order of the loss
	Waiters    []Waiter `json:"waiters,omitempty"` // see Waiting
	Last       uint64   `json:"last"`              // token of the last grant
}

// Empty reports whether the state can be removed: the lock is not declared, and has no holders.
func (s State) Empty() bool { return s.Undeclared && len(s.Holders) == 0 }

// Waiting returns the owners that wait for a slot, in the order of their first requests. It is only for display: an
// owner that waits longer has no advantage.
func (s State) Waiting(now int64) []Waiter { return waiting(s.Waiters, now) }

// Delayed returns the owners that have waited longer than AlarmAfter, in the order of their first requests.
func (s State) Delayed(now int64) []Waiter {
	if s.AlarmAfter == 0 {
		return nil
	}
	short := func(w Waiter) bool { return now < w.Since+s.AlarmAfter.Milliseconds() }
	return slices.DeleteFunc(s.Waiting(now), short)
}

// Overdue returns the holders that neither renewed their lease in time nor released their slot.
func (s State) Overdue(now int64) (out []Holder) {
	for _, h := range s.Holders {
		if h.Overdue(now) {
			out = append(out, h)
		}
	}
	return out
}

var nameForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]{0,62}$`) })

// CheckName returns an error if a name is not possible for a lock.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("cannot use %.80q as the name of a lock: a name has up to 63 letters, digits, _ and -, "+
			"and begins with a letter", name)
	}
	return nil
}

// CheckOwner returns an error if a text is not possible as an owner.
func CheckOwner(owner string) error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if owner == "" || len(owner) > MaxOwner || strings.ContainsFunc(owner, odd) {
		return fmt.Errorf("cannot use %.40q as the owner of a slot: an owner has up to %d printable characters "+
			"without spaces", owner, MaxOwner)
	}
	return nil
}

// Check returns an error if the values of a definition are not possible.
func (d Definition) Check() error {
	switch err := CheckName(d.Name); {
	case err != nil:
		return err
	case d.Slots < 1 || d.Slots > MaxSlots:
		return fmt.Errorf("cannot have %d slots: a lock has from 1 to %d", d.Slots, MaxSlots)
	case d.Lease < MinLease || d.Lease > MaxLease:
		return fmt.Errorf("cannot have a lease of %s: a lease is from 10s to 30d", d.Lease)
	case d.Wait < 0 || d.Wait > MaxWait:
		return fmt.Errorf("cannot wait for %s: the maximum is 1d", d.Wait)
	case d.AlarmAfter < 0:
		return fmt.Errorf("cannot raise an alarm after %s", d.AlarmAfter)
	case d.OnExpiry != "" && d.OnExpiry != Keep && d.OnExpiry != Free:
		return fmt.Errorf("cannot have the effect %.40q at the end of a lease: it is keep or free", d.OnExpiry)
	}
	return nil
}
