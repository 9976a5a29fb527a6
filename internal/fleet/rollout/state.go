package rollout

import (
	"maps"
	"slices"
	"strconv"
)

// place identifies a change in a lane.
type place struct {
	lane string
	Change
}

// CatchUp is the permission of a target to get the stable content of its lane.
type CatchUp struct {
	Lane string `json:"lane"`
	At   int64  `json:"at"`            // seconds since 1970
	New  bool   `json:"new,omitempty"` // it had no assignment
	// Free means that it takes no place: no limit keeps the content from it.
	Free bool `json:"free,omitempty"`
}

// Begins is a number of targets that began to catch up in a lane.
type Begins struct {
	Lane  string `json:"lane"`
	At    int64  `json:"at"`
	Count int    `json:"count"`
}

// State is the state after all events so far. It is not safe for concurrent use.
type State struct {
	Rollouts map[string]*Rollout
	open     []*Rollout // the part of Rollouts that has not ended, oldest first
	// Stable contains the content of the last completed rollout, by lane and part.
	stable map[string]map[string]string
	// held contains the rollout whose breach holds a content back.
	held map[place]string
	// skipped contains the changes that an operator excludes for a target, with the rollout.
	skipped exclusions
	owed    owed        // see IsOwed
	away    map[ID]bool // targets without contact for a long time
	next    int         // number of the next rollout
	// lanes contains the lanes in force of targets whose changes wait for rollouts, and defined the strategies of lanes.
	lanes   map[ID]string
	defined map[string]Definition
	// catching contains the targets that may have the stable content of their lane. begins are the last ones of a minute.
	catching map[ID]CatchUp
	begins   []Begins
	// announced are pieces of the next rollout.
	announced announced
}

// exclusions contains the rollouts in which an operator excluded targets from changes.
type exclusions map[ID]map[Change]string

// by returns the rollout in which an operator excluded a target from a change, or "".
func (e exclusions) by(id ID, c Change) string {
	c.Adds = false
	return e[id][c]
}

// owed contains the parts that targets lack, and of which they may have the stable content without a rollout.
type owed map[ID]map[string]bool

// fold applies an event about parts that are owed.
func (o owed) fold(e Event) {
	for _, id := range e.Targets {
		switch {
		case e.Kind == Owed && o[id] == nil:
			o[id] = map[string]bool{e.Part: true}
		case e.Kind == Owed:
			o[id][e.Part] = true
		default:
			delete(o[id], e.Part)
		}
		if len(o[id]) == 0 {
			delete(o, id)
		}
	}
}

// byPart returns the targets to which a part is owed, sorted; nil means none.
func (o owed) byPart() map[string][]ID {
	var out map[string][]ID
	for _, id := range sorted(o) {
		for part := range o[id] {
			if out == nil {
				out = map[string][]ID{}
			}
			out[part] = append(out[part], id)
		}
	}
	return out
}

// NewState returns the state before the first event.
func NewState() *State {
	return &State{Rollouts: map[string]*Rollout{}, stable: map[string]map[string]string{}, held: map[place]string{},
		skipped: exclusions{}, owed: owed{}, away: map[ID]bool{}, next: 1,
		lanes: map[ID]string{}, defined: map[string]Definition{}, catching: map[ID]CatchUp{}}
}

// Stable returns the content of a part after the last completed rollout; ok is false if there was none.
func (s *State) Stable(lane, part string) (digest string, ok bool) {
	digest, ok = s.stable[lane][part]
	return digest, ok
}

// StableContent returns the digests of Stable by lane and part.
func (s *State) StableContent() map[string]map[string]string { return s.stable }

// Open returns the rollouts that have not ended, oldest first. The caller must not modify the result.
func (s *State) Open() []*Rollout { return s.open }

// begun adds a rollout to the open ones, and ended removes it. Both replace the list, because a caller may still
// use the old one.
func (s *State) begun(r *Rollout) {
	s.ended(r.ID)
	s.open = append(slices.Clone(s.open), r)
}

func (s *State) ended(id string) {
	var left []*Rollout
	for _, r := range s.open {
		if r.ID != id {
			left = append(left, r)
		}
	}
	s.open = left
}

// free reports whether a change is the stable content of its part, which targets may have at any time. The addition
// of a part is not.
func (s *State) free(lane string, c Change) bool {
	digest, ok := s.Stable(lane, c.Part)
	return ok && !c.Adds && digest == c.Digest && c.Digest != ""
}

// name returns the ID of a rollout, and number its number.
func name(n int) string { return "r" + strconv.Itoa(n) }

func number(id string) int {
	n, _ := strconv.Atoi(id[min(1, len(id)):])
	return n
}

// excludes reports whether an operator excluded a target from a change of a rollout, also in an earlier one.
func (s *State) excludes(id ID, r *Rollout) bool {
	return slices.ContainsFunc(r.Plan.Changes, func(c Change) bool { return s.skipped.by(id, c) != "" })
}

// IsOwed reports whether a target that lacks a part may have its stable content without a rollout.
func (s *State) IsOwed(id ID, part string) bool { return s.owed[id][part] }

// All returns all rollouts, newest first.
func (s *State) All() []*Rollout {
	out := slices.Collect(maps.Values(s.Rollouts))
	slices.SortFunc(out, func(a, b *Rollout) int { return number(b.ID) - number(a.ID) })
	return out
}
