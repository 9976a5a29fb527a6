package coordination

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// changes returns the kinds of changes of an answer, with their owners.
func changes(a Answer) string {
	var out []string
	for _, c := range a.Changes {
		out = append(out, fmt.Sprint(c.Kind, " ", c.Holder.Owner))
	}
	return strings.Join(out, ", ")
}

func wantChanges(t *testing.T, a Answer, want string) {
	t.Helper()
	if got := changes(a); got != want {
		t.Errorf("the changes are %q; want %q", got, want)
	}
}

func TestChangesOfRequests(t *testing.T) {
	s := newStory(1, Free)
	wantChanges(t, s.acquire("a"), "acquired a")
	wantChanges(t, s.acquire("a"), "renewed a")
	wantChanges(t, s.acquire("b"), "waits b")
	wantChanges(t, s.release("a", 0), "released a")
	wantChanges(t, s.release("a", 0), "")
	wantChanges(t, s.acquire("b"), "acquired b")
	s.at = time.Hour
	wantChanges(t, s.acquire("a"), "expired b, acquired a")
}

// TestSmallestToken: without a usable clock, the first token is 1 and each token is the next one.
func TestSmallestToken(t *testing.T) {
	s := newStory(2, Keep)
	s.at = -start * time.Millisecond
	if a, b := s.acquire("a").Token, s.acquire("b").Token; a != 1 || b != 2 {
		t.Errorf("the tokens are %d and %d; want 1 and 2", a, b)
	}
}

// TestEndOfRecovering: an answer names the moment at which slots can be granted, in its text too.
func TestEndOfRecovering(t *testing.T) {
	s := newStory(1, Keep)
	s.restored = s.now()
	a := s.acquire("a")
	if want := s.restored + s.Lease.Milliseconds(); a.Opens != want {
		t.Errorf("the lock opens at %d; want %d", a.Opens, want)
	}
	if text := a.Explain(s.State); !strings.HasSuffix(text, " 2023-11-14T22:23:20Z") {
		t.Errorf("the explanation is %q", text)
	}
}

// TestHolderSinceTheRestoration: only a slot from before the restoration gets another token.
func TestHolderSinceTheRestoration(t *testing.T) {
	s := newStory(1, Keep)
	token := s.acquire("a").Token
	s.restored = s.now()
	s.at = s.Lease
	a := s.acquire("a")
	if a.Token != token {
		t.Errorf("a slot of the moment of the restoration changes its token from %d to %d", token, a.Token)
	}
	s.restored++
	s.at += time.Millisecond
	if a := s.acquire("a"); a.Token == token {
		t.Error("a slot from before the restoration keeps its token")
	}
}

// TestOldestTime: the restoration can be dated to the first millisecond of 1970.
func TestOldestTime(t *testing.T) {
	s := newStory(1, Keep)
	s.at, s.restored = -start*time.Millisecond+1, 1
	wantRefused(t, s.acquire("a"), Recovering)
}

func TestOwnerLeaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		expiry  OnExpiry
		working bool
		after   time.Duration
		want    string
	}{
		{"it cannot work any more", Keep, false, 0, "/"},
		{"it may still work", Keep, true, 0, "a/"},
		{"it may still work until its lease ends", Keep, true, 10*time.Minute + Grace - 1*time.Millisecond, "a/"},
		{"its lease has ended", Keep, true, 10*time.Minute + Grace, "/"},
		{"its lease ended long ago, but it cannot work", Keep, false, time.Hour, "/"},
		{"a lock that frees", Free, true, 0, "a/"},
	} {
		s := newStory(1, c.expiry)
		s.acquire("a")
		s.at = c.after
		s.play(Event{Kind: Leave, Owner: "a", Working: c.working})
		if got := s.holds(); got != c.want {
			t.Errorf("%s: %q hold slots; want %q", c.name, got, c.want)
		}
		s.play(Event{Kind: Leave, Owner: "stranger", Working: c.working})
		if got := s.holds(); got != c.want {
			t.Errorf("%s: after a stranger left, %q hold slots", c.name, got)
		}
	}
}

func TestDeclaredLockIsNotEmpty(t *testing.T) {
	if s := newStory(1, Keep); s.Empty() {
		t.Error("a declared lock without holders is empty")
	}
}

func TestLimitsOfDefinitions(t *testing.T) {
	for _, d := range []Definition{
		{Name: "a", Slots: 1, Lease: MinLease},
		{Name: "a", Slots: MaxSlots, Lease: MaxLease, OnExpiry: Free},
		{Name: strings.Repeat("x", 63), Slots: 1, Lease: time.Hour, OnExpiry: Keep},
	} {
		if err := d.Check(); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	if (Definition{Name: "a", Slots: 1, Lease: MinLease - 1}).Check() == nil {
		t.Error("a lease below the minimum is accepted")
	}
	for _, owner := range []string{"~", "!", strings.Repeat("x", MaxOwner)} {
		if err := CheckOwner(owner); err != nil {
			t.Error(err)
		}
	}
	if CheckOwner("a\x7f") == nil {
		t.Error("an owner with a control character is accepted")
	}
}

// TestTextsOfRefusals: an operator reads why a lock refuses a request.
func TestTextsOfRefusals(t *testing.T) {
	for want, c := range map[string]struct {
		answer Answer
		slots  int
	}{
		"":                                      {Answer{}, 1},
		"the slot of the lock reboots is taken": {Answer{Refused: Full}, 1},
		"all 2 slots of the lock reboots are taken":          {Answer{Refused: Full}, 2},
		"the repository no longer declares the lock reboots": {Answer{Refused: Undeclared}, 1},
	} {
		s := State{Definition: Definition{Name: "reboots", Slots: c.slots}}
		if got := c.answer.Explain(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
