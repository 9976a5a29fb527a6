package coordination

import (
	"fmt"
	"testing"
	"time"
)

// waits are the requests that were refused, by owner, as a part of the judge. Times are true times.
type waits map[string]*refusals

type refusals struct {
	// begins are the possible times of the first refusal: after a pause, hubs may or may not regard the owner as new.
	begins []time.Duration
	last   time.Duration
}

// asked notes a request of an owner. Requests that were refused because the lock is undeclared do not count.
func (w waits) asked(owner string, at time.Duration, refused string) {
	r := w[owner]
	switch {
	case refused == "":
		delete(w, owner)
	case refused == "undeclared":
	case r == nil:
		w[owner] = &refusals{begins: []time.Duration{at}, last: at}
	case at-r.last > 4*time.Minute:
		w[owner] = &refusals{begins: []time.Duration{at}, last: at}
	case at-r.last >= time.Minute:
		r.begins, r.last = append(r.begins, at), at
	default:
		r.last = at
	}
}

// compare checks a list of owners that wait.
func (w waits) compare(at time.Duration, list []Waiter, failf func(string, ...any)) {
	found := map[string]bool{}
	for _, x := range list {
		r := w[x.Owner]
		found[x.Owner] = true
		if r == nil || at-r.last > 4*time.Minute {
			failf("%s: %s is listed, and does not wait", at, x.Owner)
			continue
		}
		since, ok := time.Duration(x.Since-start)*time.Millisecond, false
		for _, b := range r.begins {
			ok = ok || (since-b).Abs() <= 30*time.Second
		}
		if !ok {
			failf("%s: %s waits since %s, not since %s", at, x.Owner, r.begins, since)
		}
	}
	for owner, r := range w {
		if at-r.last < time.Minute && !found[owner] {
			failf("%s: %s was refused at %s, and is not listed", at, owner, r.last)
		}
	}
}

// waiting returns the owners that wait, and since when.
func (s *story) waiting() (out string) {
	for _, w := range s.State.Waiting(s.now()) {
		out += fmt.Sprintf("%s %s ", w.Owner, time.Duration(w.Since-start)*time.Millisecond)
	}
	return out
}

// TestWaiting: an owner is listed from its first refusal until it gets a slot, releases its slot, or stops asking.
func TestWaiting(t *testing.T) {
	s := newStory(1, Keep)
	s.acquire("web1")
	stored := 0
	for s.at = time.Minute; s.at < 10*time.Minute; s.at += 20 * time.Second {
		stored += len(s.acquire("web2").Changes)
		if s.at < 2*time.Minute {
			s.acquire("web3")
		}
	}
	if stored != 9 {
		t.Errorf("%d changes are stored in 9 minutes", stored)
	}
	want := func(want string) {
		t.Helper()
		if got := s.waiting(); got != want {
			t.Errorf("after %s wait: %s; want: %s", s.at, got, want)
		}
	}
	want("web2 1m0s ")
	s.acquire("web3")
	want("web2 1m0s web3 10m0s ")
	s.release("web1", 0)
	s.acquire("web3")
	want("web2 1m0s ")
	s.release("web2", 5) // delayed
	want("web2 1m0s ")
	s.release("web2", 0)
	want("")
	for i := range MaxWaiters + 2 {
		s.acquire(fmt.Sprint("db", i))
	}
	if n := len(s.Waiters); n != MaxWaiters {
		t.Errorf("%d owners are listed", n)
	}
	s.at += WaitTime
	want("")
	s.acquire("web4")
	want("web4 13m0s ")
}
