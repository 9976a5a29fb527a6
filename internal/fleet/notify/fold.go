package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Limits of a State, so that it fits into one value of a store.
const (
	maxItems   = 50   // in a notice
	maxNotices = 20   // that are not delivered
	maxHeld    = 4000 // conditions
	maxText    = 300  // bytes of one item
)

// keepTrying is the time after which a notice is lost that is not delivered or not approved.
const keepTrying = 24 * time.Hour

// Item is a condition or an event.
type Item struct {
	// Key identifies a condition as long as it lasts.
	Key string `json:"key"`
	document.NoticeItem
}

// Condition is a problem that was reported, or will be in the next notice.
type Condition struct {
	Kind   string         `json:"kind"`
	Target fleet.TargetID `json:"target,omitempty"`
	Name   string         `json:"name,omitempty"`
	Module string         `json:"module,omitempty"`
	// Unreported means that no notice contains the condition yet.
	Unreported bool `json:"gathered,omitempty"`
}

// Notice is a notice that was created.
type Notice struct {
	ID       string `json:"id"`
	At       int64  `json:"at"` // ns since 1970, as all times of this package
	Items    []Item `json:"items"`
	More     int    `json:"more,omitempty"`
	Tries    int    `json:"tries,omitempty"`
	Next     int64  `json:"next,omitempty"` // time of the next attempt
	Error    string `json:"error,omitempty"`
	Waits    bool   `json:"waits,omitempty"` // needs an approval
	Approved string `json:"approved,omitempty"`
}

// State is the state of a rule. The zero value has reported nothing.
type State struct {
	Cursor     string               `json:"cursor,omitempty"` // after the last event
	Conditions map[string]Condition `json:"held,omitempty"`
	Collected  []Item               `json:"gathered,omitempty"`
	More       int                  `json:"more,omitempty"`
	Since      int64                `json:"since,omitempty"` // time of the first item in Collected
	LastNotice int64                `json:"made,omitempty"`  // time of the last notice
	Number     uint64               `json:"number,omitempty"`
	Delivered  uint64               `json:"done,omitempty"` // number of delivered notices
	Lost       uint64               `json:"lost,omitempty"`
	Notices    []Notice             `json:"notices,omitempty"` // not delivered, oldest first
}

// Observation is the input of one evaluation.
type Observation struct {
	Now        int64
	Conditions []Item
	// Unobservable contains the kinds of conditions that cannot be seen now. Such conditions do not end.
	Unobservable map[string]bool
	Events       []Item
	Cursor       string // after the last event
}

// Fold evaluates a rule. It does not modify s. changed reports whether next must be stored.
func (s State) Fold(r document.Notification, seen Observation) (next State, changed bool) {
	next = s
	next.Conditions, next.Collected, next.Notices = maps.Clone(s.Conditions), slices.Clone(s.Collected),
		slices.Clone(s.Notices)
	if next.Conditions == nil {
		next.Conditions = map[string]Condition{}
	}
	changed = next.conditions(seen)
	for _, e := range seen.Events {
		next.gather(e, seen.Now)
		changed = true
	}
	if seen.Cursor != s.Cursor {
		next.Cursor, changed = seen.Cursor, true
	}
	lost := next.Lost
	next.lose(seen.Now)
	made := next.make(r, seen.Now)
	return next, changed || made || next.Lost != lost
}

func (s *State) conditions(seen Observation) (changed bool) {
	now := map[string]bool{}
	for _, c := range seen.Conditions {
		if now[c.Key] {
			continue
		}
		now[c.Key] = true
		if _, known := s.Conditions[c.Key]; known || len(s.Conditions) >= maxHeld {
			continue
		}
		s.Conditions[c.Key] = Condition{Kind: c.Kind, Target: c.Target, Name: c.Name, Module: c.Module, Unreported: true}
		s.gather(c, seen.Now)
		changed = true
	}
	for _, key := range slices.Sorted(maps.Keys(s.Conditions)) {
		if h := s.Conditions[key]; !now[key] && !seen.Unobservable[h.Kind] {
			s.over(key, h, seen.Now)
			changed = true
		}
	}
	return changed
}

// over ends a condition. If a notice contained it, the end is reported; otherwise it is dropped.
func (s *State) over(key string, h Condition, now int64) {
	delete(s.Conditions, key)
	if !h.Unreported {
		s.gather(Item{key, document.NoticeItem{Kind: h.Kind, Resolved: true, Target: h.Target, Name: h.Name,
			Module: h.Module, At: now}}, now)
		return
	}
	was := len(s.Collected)
	s.Collected = slices.DeleteFunc(s.Collected, func(i Item) bool { return i.Key == key && !i.Resolved })
	if len(s.Collected) == was && s.More > 0 {
		s.More--
	}
}

func (s *State) gather(i Item, now int64) {
	if len(s.Collected) == 0 && s.More == 0 {
		s.Since = now
	}
	if len(s.Collected) >= maxItems {
		s.More++
		return
	}
	i.Text = i.Text[:min(len(i.Text), maxText)]
	s.Collected = append(s.Collected, i)
}

// make creates a notice of the gathered items if it is due.
func (s *State) make(r document.Notification, now int64) bool {
	wait := every(r)
	if len(s.Collected)+s.More == 0 || now < s.Since+wait || now < s.LastNotice+wait || len(s.Notices) >= maxNotices {
		return false
	}
	s.Number++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", r.Name, s.Number, now))
	s.Notices = append(s.Notices, Notice{ID: hex.EncodeToString(sum[:8]), At: now, Items: s.Collected, More: s.More,
		Waits: r.Command != nil && r.Command.Approve})
	s.Collected, s.More, s.LastNotice = nil, 0, now
	for key, h := range s.Conditions {
		if h.Unreported {
			h.Unreported = false
			s.Conditions[key] = h
		}
	}
	return true
}

// lose removes notices that are too old, and counts them as lost.
func (s *State) lose(now int64) {
	s.Notices = slices.DeleteFunc(s.Notices, func(n Notice) bool {
		old := now > n.At+int64(keepTrying)
		if old {
			s.Lost++
		}
		return old
	})
}

// Due returns the notice to send now, or nil. While the delivery of a notice fails, later notices
// wait.
func (s State) Due(now int64) *Notice {
	for _, n := range s.Notices {
		if n.Waits && n.Approved == "" {
			continue
		}
		if n.Next > now {
			return nil
		}
		return &n
	}
	return nil
}

// Sent returns the state after an attempt with the result err. It does not modify s.
func (s State) Sent(id string, err error, now int64) State {
	s.Notices = slices.Clone(s.Notices)
	i := slices.IndexFunc(s.Notices, func(n Notice) bool { return n.ID == id })
	switch {
	case i < 0:
	case err == nil:
		s.Notices = slices.Delete(s.Notices, i, i+1)
		s.Delivered++
	default:
		n := &s.Notices[i]
		n.Tries++
		n.Error = err.Error()[:min(len(err.Error()), maxText)]
		n.Next = now + int64(min(5*time.Second<<min(n.Tries-1, 10), 10*time.Minute))
	}
	return s
}

// Approve approves a notice, or removes it if reject is set. It reports whether the notice exists and
// waits for a decision. It does not modify s.
func (s State) Approve(id, by string, reject bool) (State, bool) {
	s.Notices = slices.Clone(s.Notices)
	for i, n := range s.Notices {
		if n.ID != id || !n.Waits || n.Approved != "" {
			continue
		}
		if reject {
			s.Notices = slices.Delete(s.Notices, i, i+1)
		} else {
			s.Notices[i].Approved = by
		}
		return s, true
	}
	return s, false
}

// DefaultEvery is the default time for which a rule gathers items.
const DefaultEvery = 30 * time.Second

// every returns the time in ns for which a rule gathers items.
func every(r document.Notification) int64 { return cmp.Or(r.Every, int64(DefaultEvery)) }
