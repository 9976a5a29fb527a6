package rollout

import (
	"cmp"
	"maps"
	"slices"
)

// Snapshot is the state between rollouts: no rollout is open. It replaces the events before it.
type Snapshot struct {
	Rollouts []*Rollout                   `json:"rollouts"` // the newest ones, oldest first
	Stable   map[string]map[string]string `json:"stable"`   // digests by lane and part
	Held     []HeldBack                   `json:"held,omitempty"`
	Skipped  []SkippedFor                 `json:"skipped,omitempty"`
	Away     []ID                         `json:"away,omitempty"`    // targets without contact for a long time, sorted
	Next     int                          `json:"next"`              // number of the next rollout
	Lanes    map[string][]ID              `json:"lanes,omitempty"`   // sorted targets by the lane in force
	Defined  map[string]Definition        `json:"defined,omitempty"` // strategies by lane
	Catching map[ID]CatchUp               `json:"catching,omitempty"`
	Begins   []Begins                     `json:"begins,omitempty"`
	Owed     map[string][]ID              `json:"owed,omitempty"` // sorted targets by part, see State.IsOwed
}

// HeldBack is content that is held since a rollout ended.
type HeldBack struct {
	Lane    string `json:"lane"`
	Change  Change `json:"change"`
	Rollout string `json:"rollout"`
}

// SkippedFor is a change from which an operator excluded a target.
type SkippedFor struct {
	Target  ID     `json:"target"`
	Change  Change `json:"change"`
	Rollout string `json:"rollout"`
}

// Snapshot returns the state with the newest rollouts, as long as they have at most members members together. Older
// rollouts that hold content or exclude a target have no members in it. ok is false while a rollout is
// open. The result shares memory with the state.
func (s *State) Snapshot(members int) (out Snapshot, ok bool) {
	if len(s.Open()) > 0 {
		return out, false
	}
	out = Snapshot{Stable: s.stable, Away: s.awayIDs(), Next: s.next, Defined: s.defined, Catching: s.catching,
		Begins: s.begins}
	if len(s.lanes) > 0 {
		out.Lanes = map[string][]ID{}
	}
	if len(s.defined) == 0 {
		out.Defined = nil
	}
	if len(s.catching) == 0 {
		out.Catching = nil
	}
	for _, id := range sorted(s.lanes) {
		out.Lanes[s.lanes[id]] = append(out.Lanes[s.lanes[id]], id)
	}
	members -= len(s.lanes)
	out.Owed = s.owed.byPart()
	needed := map[string]bool{}
	for p, id := range s.held {
		out.Held = append(out.Held, HeldBack{p.lane, p.Change, id})
		needed[id] = true
	}
	for target, changes := range s.skipped {
		for c, id := range changes {
			out.Skipped = append(out.Skipped, SkippedFor{target, c, id})
			needed[id] = true
		}
	}
	for _, r := range s.All() {
		if members -= len(r.Members); members >= 0 {
			out.Rollouts = append(out.Rollouts, r.withoutBefore())
		} else if needed[r.ID] {
			out.Rollouts = append(out.Rollouts, r.withoutMembers())
		}
	}
	slices.Reverse(out.Rollouts)
	slices.SortFunc(out.Held, func(a, b HeldBack) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), compareChanges(a.Change, b.Change))
	})
	slices.SortFunc(out.Skipped, func(a, b SkippedFor) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), compareChanges(a.Change, b.Change))
	})
	return out, true
}

// withoutBefore returns an ended rollout without the previous content of its members, which only a rollback needs.
// It is the largest part of a rollout of many parts.
func (r *Rollout) withoutBefore() *Rollout {
	out := *r
	out.numbers, out.contents = tally{}, nil // State creates them again
	out.Course = r.Course.clone()
	out.Members = make(map[ID]*Member, len(r.Members))
	for id, m := range r.Members {
		own := *m
		own.Before = nil
		out.Members[id] = &own
	}
	return &out
}

func (r *Rollout) withoutMembers() *Rollout {
	out := *r
	out.Members, out.Wave, out.Plan.Waves, out.numbers = nil, 0, nil, tally{}
	out.contents, out.Course = nil, nil
	return &out
}

// sortedChanges sorts changes, and removes duplicates.
func sortedChanges(all []Change) []Change {
	slices.SortFunc(all, compareChanges)
	return slices.Compact(all)
}

func compareChanges(a, b Change) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Digest, b.Digest), cmp.Compare(one(a.Adds), one(b.Adds)))
}

// State returns the state of the snapshot. It shares no memory with it.
func (o Snapshot) State() *State {
	s := NewState()
	s.next = max(o.Next, 1)
	s.withAway(o.Away)
	for lane, parts := range o.Stable {
		s.stable[lane] = maps.Clone(parts)
	}
	maps.Copy(s.defined, o.Defined)
	maps.Copy(s.catching, o.Catching)
	s.begins = slices.Clone(o.Begins)
	for part, ids := range o.Owed {
		s.owed.fold(Event{Kind: Owed, Part: part, Targets: ids})
	}
	for lane, ids := range o.Lanes {
		for _, id := range ids {
			s.lanes[id] = lane
		}
	}
	for _, h := range o.Held {
		s.held[place{h.Lane, h.Change}] = h.Rollout
	}
	for _, k := range o.Skipped {
		if s.skipped[k.Target] == nil {
			s.skipped[k.Target] = map[Change]string{}
		}
		s.skipped[k.Target][k.Change] = k.Rollout
	}
	for _, r := range o.Rollouts {
		own := *r
		own.Course = r.Course.clone()
		own.Members = make(map[ID]*Member, len(r.Members))
		for id, m := range r.Members {
			member := *m
			own.Members[id] = &member
		}
		own.numbers = newTally(own.Members)
		own.index()
		s.Rollouts[r.ID] = &own
	}
	return s
}
