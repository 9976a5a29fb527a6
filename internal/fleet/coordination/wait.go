package coordination

import (
	"slices"
	"time"
)

// Limits of the list of waiting owners.
const (
	// MaxWaiters is the number of waiting owners that a state contains. Further owners wait too, but are not listed.
	MaxWaiters = 100
	// WaitTime is the time for which an owner is listed after its last request.
	WaitTime = 3 * time.Minute
	// askedEvery is the minimum time between two requests of a waiting owner that are stored: refusals are frequent.
	askedEvery = time.Minute
)

// Waiter is an owner that waits for a slot: its last request was refused.
type Waiter struct {
	Owner string `json:"owner"`
	// Since is the time of the first refusal, and Asked the time of the last refusal that was stored, in ms since 1970.
	Since int64 `json:"since"`
	Asked int64 `json:"asked"`
}

// waiting returns the owners in a list that asked recently.
func waiting(list []Waiter, now int64) []Waiter {
	gone := func(w Waiter) bool { return now >= w.Asked+WaitTime.Milliseconds() }
	return slices.DeleteFunc(slices.Clone(list), gone)
}

// refused returns the list after a refusal. changed reports whether it must be stored.
func refused(list []Waiter, owner string, now int64) (out []Waiter, changed bool) {
	out = waiting(list, now)
	i := slices.IndexFunc(out, func(w Waiter) bool { return w.Owner == owner })
	switch {
	case i < 0 && len(out) < MaxWaiters:
		return append(out, Waiter{Owner: owner, Since: now, Asked: now}), true
	case i >= 0 && now >= out[i].Asked+askedEvery.Milliseconds():
		out[i].Asked = now
		return out, true
	}
	return out, false
}

// without returns the list without an owner.
func without(list []Waiter, owner string) []Waiter {
	return slices.DeleteFunc(slices.Clone(list), func(w Waiter) bool { return w.Owner == owner })
}
