package coordination

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// story plays events on one lock. The time is in seconds from its start.
type story struct {
	State
	at       time.Duration
	restored int64
}

const start = 1_700_000_000_000 // ms since 1970

func newStory(slots int, expiry OnExpiry) *story {
	s := &story{}
	s.play(Event{Kind: Define, Definition: Definition{Name: "reboots", Slots: slots, Lease: 10 * time.Minute,
		OnExpiry: expiry}})
	return s
}

func (s *story) now() int64 { return start + s.at.Milliseconds() }

func (s *story) play(e Event) Answer {
	e.Restored = s.restored
	next, a := Decide(s.State, e, s.now())
	s.State = next
	return a
}

func (s *story) acquire(owner string) Answer { return s.play(Event{Kind: Acquire, Owner: owner}) }

func (s *story) release(owner string, token uint64) Answer {
	return s.play(Event{Kind: Release, Owner: owner, Token: token})
}

// holds returns the holders, and the former holders after a slash.
func (s *story) holds() string {
	var a, b []string
	for _, h := range s.Holders {
		a = append(a, h.Owner)
	}
	for _, h := range s.Lost {
		b = append(b, h.Owner)
	}
	return strings.Join(a, " ") + "/" + strings.Join(b, " ")
}

func (s *story) want(t *testing.T, want string) {
	t.Helper()
	if got := s.holds(); got != want {
		t.Errorf("after %s, %q hold slots; want %q", s.at, got, want)
	}
}

func wantRefused(t *testing.T, a Answer, want Refusal) {
	t.Helper()
	if a.Refused != want {
		t.Errorf("the answer is %q; want %q", a.Refused, want)
	}
}

func TestSlotsAreNotExceeded(t *testing.T) {
	s := newStory(2, Keep)
	a, b := s.acquire("web1"), s.acquire("web2")
	if a.Token >= b.Token || a.Token == 0 {
		t.Errorf("the tokens are %d and %d", a.Token, b.Token)
	}
	wantRefused(t, s.acquire("web3"), Full)
	s.want(t, "web1 web2/")
	s.release("web1", 0)
	wantRefused(t, s.acquire("web3"), "")
	s.want(t, "web2 web3/")
}

func TestRepetitionsChangeNothing(t *testing.T) {
	s := newStory(1, Keep)
	first := s.acquire("web1")
	s.at = time.Minute
	again := s.acquire("web1")
	if again.Token != first.Token || again.Expires != first.Expires+60_000 || again.Since != first.Since {
		t.Errorf("the second answer is %+v after %+v", again, first)
	}
	if a := s.release("web2", 0); a.Refused != "" || len(a.Changes) != 0 {
		t.Errorf("the release of a stranger returns %+v", a)
	}
	s.release("web1", 0)
	if a := s.release("web1", 0); a.Refused != "" || len(a.Changes) != 0 {
		t.Errorf("the second release returns %+v", a)
	}
	s.want(t, "/")
}

// TestDelayedRelease: a release of an earlier grant does not end the newer one.
func TestDelayedRelease(t *testing.T) {
	s := newStory(1, Keep)
	old := s.acquire("web1").Token
	s.release("web1", old)
	if s.acquire("web1").Token <= old {
		t.Error("a token repeats")
	}
	s.release("web1", old)
	s.want(t, "web1/")
}

// TestReleaseBeforeAcquire: a release that arrives after a later request of the owner has no effect.
func TestReleaseBeforeAcquire(t *testing.T) {
	s := newStory(1, Keep)
	token := s.play(Event{Kind: Acquire, Owner: "a", Order: 5}).Token
	s.play(Event{Kind: Acquire, Owner: "a", Order: 3}) // a renewal that is late
	for _, e := range []Event{{Order: 4}, {Order: 5}, {Order: 4, Token: token}} {
		e.Kind, e.Owner = Release, "a"
		s.play(e)
		s.want(t, "a/")
	}
	s.play(Event{Kind: Release, Owner: "a", Token: token, Order: 6})
	s.want(t, "/")
	s.play(Event{Kind: Acquire, Owner: "a", Order: 7})
	s.release("a", 0) // by a program without an order
	s.want(t, "/")
}

func TestCrashedHolderKeepsItsSlot(t *testing.T) {
	s := newStory(1, Keep)
	first := s.acquire("web1")
	s.at = 9 * time.Hour
	if a := s.acquire("web2"); a.Refused != Full || len(a.Changes) == 0 || a.Changes[0].Kind != Overdue {
		t.Errorf("the answer is %+v", a)
	}
	if a := s.play(Event{Kind: Tick}); len(a.Changes) != 0 {
		t.Errorf("the end of the lease is recorded twice: %+v", a)
	}
	if o := s.Overdue(s.now()); len(o) != 1 || o[0].Owner != "web1" {
		t.Errorf("overdue are %+v", o)
	}
	if a := s.acquire("web1"); a.Token != first.Token {
		t.Errorf("the holder that returned has %+v", a)
	}
	if o := s.Overdue(s.now()); len(o) != 0 {
		t.Errorf("overdue are %+v after the return", o)
	}
	s.at += time.Hour
	if a := s.play(Event{Kind: Tick}); len(a.Changes) != 1 {
		t.Errorf("the second end is not recorded: %+v", a)
	}
}

func TestCrashedHolderLosesItsSlot(t *testing.T) {
	s := newStory(1, Free)
	first := s.acquire("web1")
	s.at = 10*time.Minute + Grace - time.Second
	wantRefused(t, s.acquire("web2"), Full)
	s.at += time.Second
	second := s.acquire("web2")
	wantRefused(t, second, "")
	if second.Token <= first.Token {
		t.Errorf("the token %d follows %d", second.Token, first.Token)
	}
	s.want(t, "web2/web1")
	wantRefused(t, s.acquire("web1"), Full)
	s.release("web2", 0)
	s.acquire("web1")
	s.want(t, "web1/")
}

// TestClockJumps: a hub frees a slot only after it saw the lease for its whole time, also if its clock jumped.
func TestClockJumps(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		lease, jump, seen time.Duration
		free              bool
	}{
		{time.Minute, day, 0, false}, {time.Minute, day, 2*time.Minute - 1, false},
		{time.Minute, day, 2 * time.Minute, true}, {time.Minute, -day, 2 * time.Minute, true},
		{day, 2 * day, MaxObserved - 1, false}, {day, 2 * day, MaxObserved, true}, {day, day, 23 * time.Hour, false},
		{day, -day, day + Grace, true},
	} {
		for _, leaves := range []bool{false, true} {
			s := newStory(1, Free)
			if leaves {
				s = newStory(1, Keep)
			}
			s.Lease = c.lease
			s.acquire("a")
			s.at = c.jump
			e := Event{Kind: Tick, Observed: map[string]time.Duration{"a": c.seen}}
			if leaves {
				e.Kind, e.Owner, e.Working = Leave, "a", true
			}
			if s.play(e); (len(s.Holders) == 0) != c.free {
				t.Errorf("leaves %t: lease %s, jump %s, seen for %s: the slot is free: %t", leaves, c.lease, c.jump, c.seen,
					!c.free)
			}
		}
	}
}

func TestTimeFreesSlots(t *testing.T) {
	s := newStory(1, Free)
	s.acquire("web1")
	s.at = time.Hour
	if a := s.play(Event{Kind: Tick}); len(a.Changes) != 1 || a.Changes[0].Kind != Expired {
		t.Errorf("a tick returns %+v", a)
	}
	s.want(t, "/web1")
	s.release("web1", 0) // it returned
	s.want(t, "/")
}

func TestFewerSlotsThanHolders(t *testing.T) {
	s := newStory(3, Keep)
	for _, o := range []string{"a", "b", "c"} {
		s.acquire(o)
	}
	d := s.Definition
	d.Slots = 1
	s.play(Event{Kind: Define, Definition: d})
	s.want(t, "a b c/")
	wantRefused(t, s.acquire("b"), "")
	s.release("a", 0)
	s.release("b", 0)
	wantRefused(t, s.acquire("d"), Full)
	s.release("c", 0)
	wantRefused(t, s.acquire("d"), "")
}

func TestUndeclaredLock(t *testing.T) {
	s := newStory(2, Keep)
	s.acquire("a")
	if a := s.play(Event{Kind: Undefine}); len(a.Changes) != 1 {
		t.Errorf("the removal returns %+v", a)
	}
	if a := s.play(Event{Kind: Undefine}); len(a.Changes) != 0 {
		t.Errorf("the second removal returns %+v", a)
	}
	wantRefused(t, s.acquire("b"), Undeclared)
	wantRefused(t, s.acquire("a"), "")
	if s.Empty() {
		t.Error("a lock with a holder is empty")
	}
	s.release("a", 0)
	if !s.Empty() {
		t.Error("a lock that is neither declared nor held is not empty")
	}
	s.play(Event{Kind: Define, Definition: s.Definition})
	wantRefused(t, s.acquire("b"), "")
}

// TestRestoredFleet: the hubs may not know the newest holders.
func TestRestoredFleet(t *testing.T) {
	s := newStory(2, Keep)
	old := s.acquire("a").Token
	s.at = time.Hour
	s.restored = s.now()
	a := s.acquire("b")
	wantRefused(t, a, Recovering)
	wantRefused(t, s.acquire("a"), Recovering)
	if text := a.Explain(s.State); !strings.Contains(text, "restored from a backup") {
		t.Errorf("the explanation is %q", text)
	}
	s.at += 10 * time.Minute
	wantRefused(t, s.acquire("b"), "")
	if got := s.acquire("a").Token; got <= old+3_600_000 {
		t.Errorf("a token from before the restoration is valid: %d after %d", got, old)
	}
	wantRefused(t, s.acquire("c"), Full)
}

func TestTokensIncreaseAfterAClockJump(t *testing.T) {
	s := newStory(1, Keep)
	last := uint64(0)
	for _, at := range []time.Duration{0, time.Hour, -9 * time.Hour, 0, time.Second} {
		s.at = at
		got := s.acquire("a").Token
		s.release("a", 0)
		if got <= last {
			t.Errorf("the token %d follows %d", got, last)
		}
		last = got
	}
}

func TestFormerHoldersAreBounded(t *testing.T) {
	s := newStory(MaxSlots, Free)
	for i := range MaxSlots {
		s.acquire(fmt.Sprint("host", i))
	}
	s.at = time.Hour
	s.play(Event{Kind: Tick})
	if len(s.Holders) != 0 || len(s.Lost) != MaxLost || s.Lost[MaxLost-1].Owner != fmt.Sprint("host", MaxSlots-1) {
		t.Errorf("%d holders and %d former ones", len(s.Holders), len(s.Lost))
	}
}

// TestStateIsAValue: a decision does not modify the state before it.
func TestStateIsAValue(t *testing.T) {
	s := newStory(2, Keep)
	s.acquire("a")
	before := s.State
	s.at = time.Minute
	Decide(s.State, Event{Kind: Acquire, Owner: "a"}, s.now())
	Decide(s.State, Event{Kind: Release, Owner: "a"}, s.now())
	if h := before.Holders[0]; h.Owner != "a" || h.Renewed != start {
		t.Errorf("the former state changed: %+v", h)
	}
}

func TestChecks(t *testing.T) {
	good := Definition{Name: "reboots", Slots: 2, Lease: time.Hour, OnExpiry: Keep}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Definition){
		"no name":    func(d *Definition) { d.Name = "" },
		"a path":     func(d *Definition) { d.Name = "a/b" },
		"long":       func(d *Definition) { d.Name = strings.Repeat("x", 64) },
		"no slots":   func(d *Definition) { d.Slots = 0 },
		"many slots": func(d *Definition) { d.Slots = MaxSlots + 1 },
		"no lease":   func(d *Definition) { d.Lease = 0 },
		"long lease": func(d *Definition) { d.Lease = MaxLease + 1 },
		"expiry":     func(d *Definition) { d.OnExpiry = "later" },
	} {
		d := good
		if change(&d); d.Check() == nil {
			t.Errorf("%s: no error for %+v", name, d)
		}
	}
	for _, owner := range []string{"", "two words", "line\n", "ü", strings.Repeat("x", MaxOwner+1)} {
		if CheckOwner(owner) == nil {
			t.Errorf("no error for the owner %q", owner)
		}
	}
	if err := CheckOwner("abc-1/x.y"); err != nil {
		t.Error(err)
	}
}
