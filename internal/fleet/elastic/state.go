package elastic

import (
	"maps"
	"slices"
	"time"
)

// Kind names a change. The zero value means that nothing changes.
type Kind string

// Kinds of changes.
const (
	Nothing  Kind = ""
	Nominate Kind = "nominate" // the node becomes a relay
	Vote     Kind = "vote"     // the named hubs vote, and no other hub
	Empty    Kind = "empty"    // the relay moves its agents to other hubs
	Retire   Kind = "retire"   // the relay is no longer a hub
	Withdraw Kind = "withdraw" // the nominee is no longer a nominee
)

// Change is a change of the hubs.
type Change struct {
	Kind   Kind     `json:"kind,omitempty"`
	Name   string   `json:"name,omitempty"`   // the node or hub, unless Kind is Vote
	Voters []string `json:"voters,omitempty"` // of Vote: all voters, sorted; the number is odd
	Reason string   `json:"reason"`           // for an operator: a clause without a period
	Since  int64    `json:"since,omitempty"`  // when it was accepted, in ms since 1970
}

// Decision is the change to perform now, or the reason why nothing changes.
type Decision struct {
	Change
	// New means that the change was not accepted before. Otherwise it is the repetition of an accepted change.
	New bool
}

// State is the memory of the decisions. Times are in ms since 1970; 0 means never. The zero value is a fleet without
// decisions. Decide and Accept do not modify it.
type State struct {
	Size       int    `json:"size,omitempty"`        // desired number of hubs
	SizeReason string `json:"size_reason,omitempty"` // of the last change of the size
	Observer   string `json:"observer,omitempty"`    // the leader that made the last decision
	Watching   int64  `json:"watching,omitempty"`    // start of the observation without a gap
	Decided    int64  `json:"decided,omitempty"`     // the last decision
	HighSince  int64  `json:"high_since,omitempty"`  // start of the high load
	LowSince   int64  `json:"low_since,omitempty"`   // start of the low load
	Changed    int64  `json:"changed,omitempty"`     // the last change that was accepted
	Pending    Change `json:"pending,omitzero"`      // the accepted change, until its effect is observed
	// Good is the last time at which each hub was good.
	Good map[string]int64 `json:"good,omitempty"`
	// Avoid is the end of the time in which a node is not nominated.
	Avoid map[string]int64 `json:"avoid,omitempty"`
	// Reasons are the reasons of the last change of each hub.
	Reasons map[string]string `json:"reasons,omitempty"`
}

// clone returns a copy that shares nothing with s.
func (s State) clone() State {
	copied := func(m map[string]int64) map[string]int64 {
		out := map[string]int64{}
		maps.Copy(out, m)
		return out
	}
	s.Good, s.Avoid = copied(s.Good), copied(s.Avoid)
	reasons := map[string]string{}
	maps.Copy(reasons, s.Reasons)
	s.Reasons = reasons
	s.Pending.Voters = slices.Clone(s.Pending.Voters)
	return s
}

// Accept returns the state after a decision of Decide that is New. The caller stores it before it performs the change.
func (s State) Accept(d Decision, p Policy, now int64) State {
	s = s.clone()
	s.Pending, s.Changed = d.Change, now
	s.Pending.Since, s.Pending.Voters = now, slices.Clone(d.Voters)
	if d.Kind == Withdraw || d.Kind == Retire {
		s.Avoid[d.Name] = now + p.RetryAfter.Milliseconds()
	}
	if d.Name != "" {
		s.Reasons[d.Name] = d.Reason
	}
	return s
}

// restart begins all waiting times again if another hub leads, or if time passed without decisions.
func (s *State) restart(in Input, now int64) {
	gap := now - s.Decided
	if s.Observer == in.Leader && gap >= 0 && gap <= MaxGap.Milliseconds() {
		return
	}
	s.Observer, s.Watching, s.HighSince, s.LowSince = in.Leader, now, 0, 0
	s.Changed = min(s.Changed, now)
	if s.Pending.Kind != Nothing {
		s.Pending.Since = now
	}
	for name, at := range s.Good {
		s.Good[name] = min(at, now)
	}
	for name, until := range s.Avoid {
		s.Avoid[name] = min(until, now+in.Policy.RetryAfter.Milliseconds())
	}
}

// forget drops the entries of hubs and nodes that no longer matter.
func (s *State) forget(hubs []Hub, now int64) {
	gone := func(name string) bool {
		return !slices.ContainsFunc(hubs, func(h Hub) bool { return h.Name == name })
	}
	maps.DeleteFunc(s.Good, func(name string, _ int64) bool { return gone(name) })
	maps.DeleteFunc(s.Reasons, func(name, _ string) bool { return gone(name) && name != s.Pending.Name })
	maps.DeleteFunc(s.Avoid, func(_ string, until int64) bool { return until <= now })
}

// since reports whether a duration has passed since a time. It is false if the time is 0.
func since(at, now int64, d time.Duration) bool { return at != 0 && now-at >= d.Milliseconds() }
