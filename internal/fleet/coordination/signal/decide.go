package signal

import (
	"fmt"
	"slices"
)

// EventKind names an input.
type EventKind string

// Kinds of events.
const (
	Define   EventKind = "define"   // the repository declares the signal, or other values of it
	Undefine EventKind = "undefine" // the repository no longer declares the signal
	Send     EventKind = "send"     // a target or a user sends a signal
	Clear    EventKind = "clear"    // an operator removes all signals of the name
	Tick     EventKind = "tick"     // time has passed
)

// Event is a request, or another input of Decide.
type Event struct {
	Kind       EventKind
	Definition Definition // of Define; it must pass Check
	Sender     string     // of Send
	User       bool       // of Send: the sender is a user
	Payload    string     // of Send; it must pass CheckPayload
}

// ChangeKind names an effect, for the log of the fleet.
type ChangeKind string

// Kinds of changes.
const (
	Defined  ChangeKind = "defined"
	Removed  ChangeKind = "undefined"
	New      ChangeKind = "sent"
	Repeated ChangeKind = "repeated"
	Cleared  ChangeKind = "cleared"
	Expired  ChangeKind = "expired" // Keep has passed, or there were too many
)

// Change is an effect of an event. Count is the number of signals of Cleared and Expired, otherwise 0.
type Change struct {
	Kind  ChangeKind
	Count int
}

// Answer is the result of an event.
type Answer struct {
	// Undeclared means that a Send was refused, because the repository no longer declares the signal.
	Undeclared bool
	Changes    []Change
}

// Decide returns the state after an event, and the answer. now is in ms since 1970.
func Decide(s State, e Event, now int64) (State, Answer) {
	var a Answer
	change := func(k ChangeKind, n int) { a.Changes = append(a.Changes, Change{k, n}) }
	kept := s.Kept(now)
	if n := len(s.Sent) - len(kept); n > 0 {
		change(Expired, n)
	}
	s.Sent = kept
	switch e.Kind {
	case Define:
		if s.Undeclared || !s.same(e.Definition) {
			s.Definition, s.Undeclared = e.Definition, false
			change(Defined, 0)
		}
	case Undefine:
		if !s.Undeclared {
			s.Undeclared, s.Sent = true, nil
			change(Removed, 0)
		}
	case Clear:
		change(Cleared, len(s.Sent))
		s.Sent = nil
	case Send:
		if a.Undeclared = s.Undeclared; !a.Undeclared {
			change(s.send(e, now))
		}
	}
	return s, a
}

// same reports whether a definition has the same values.
func (d Definition) same(b Definition) bool {
	return d.Name == b.Name && d.Keep == b.Keep && slices.Equal(d.Senders, b.Senders)
}

// send adds a signal, or gives an earlier one a new time. Times never decrease, so that the order remains if clocks
// of hubs differ.
func (s *State) send(e Event, now int64) (ChangeKind, int) {
	if n := len(s.Sent); n > 0 {
		now = max(now, s.Sent[n-1].At)
	}
	x := Sent{Sender: e.Sender, User: e.User, Payload: e.Payload, First: now, At: now}
	same := func(y Sent) bool { return y.Sender == x.Sender && y.User == x.User && y.Payload == x.Payload }
	kind := New
	if i := slices.IndexFunc(s.Sent, same); i >= 0 {
		x.First, kind = s.Sent[i].First, Repeated
		s.Sent = slices.Delete(s.Sent, i, i+1)
	}
	s.Sent = append(s.Sent, x)
	s.Sent = s.Sent[max(0, len(s.Sent)-MaxSent):]
	return kind, 0
}

// Explain returns the cause of a refusal for an operator, or "".
func (a Answer) Explain(name string) string {
	if !a.Undeclared {
		return ""
	}
	return fmt.Sprintf("the repository no longer declares the signal %s", name)
}
