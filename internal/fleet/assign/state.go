package assign

import (
	"encoding/json"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// What says what an event is about.
type What string

// What events are about, with their key.
const (
	TargetEvent            What = "target" // joined, relabelled, approved, retired, left; its identity
	PinEvent               What = "pin"
	FreezeEvent            What = "freeze"
	BinaryEvent            What = "program"
	RefEvent               What = "ref" // a branch or tag leads somewhere else; its name
	ApprovalEvent          What = "approval"
	MinimumGenerationEvent What = "floor"      // an agent said what it has; its identity
	ExportsEvent           What = "exports"    // what a target exports; its identity
	AssignmentEvent        What = "assignment" // the store has one; the target's identity
)

// Event is one thing as it is now, whole: what it was before does not matter. The value
// that belongs to What is given, or none of them when the thing is gone.
type Event struct {
	// Rev is the revision of the entry: of two events about the same thing the one
	// with the higher counts. Floors and assignments have an order of their own.
	Rev  uint64
	What What
	Key  string

	Target            *fleet.Target
	Pin               *Pin
	Freeze            *Freeze
	Binary            *BinarySetting
	Ref               *Ref
	Approval          *Approval
	MinimumGeneration *fleet.Have
	Exports           *[]exported.Own // sorted
	Assignment        *fleet.Assignment
}

// State is what all events so far come to. It belongs to one goroutine.
type State struct {
	Epoch     uint64
	Branch    string
	MaxPinned int // see Input

	targets            table[fleet.Target]
	pins               table[Pin]
	freezes            table[Freeze]
	binaries           table[BinarySetting]
	refs               table[Ref]
	approvals          table[Approval]
	exports            table[[]exported.Own]
	minimumGenerations map[fleet.TargetID]fleet.Have
	previous           map[fleet.TargetID]fleet.Assignment
}

// table keeps the newest of each thing; what is gone stays as nil, so that an older
// event about it does not bring it back.
type table[T any] map[string]entry[T]

type entry[T any] struct {
	rev   uint64
	value *T
}

func (t table[T]) put(key string, rev uint64, v *T) {
	if old, ok := t[key]; ok && rev <= old.rev {
		return
	}
	if v != nil {
		own := *v
		v = &own
	}
	t[key] = entry[T]{rev, v}
}

// list are those that are there, by key.
func (t table[T]) list() []T {
	out := []T{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if v := t[key].value; v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// NewState is a hub that knows nothing yet.
func NewState(epoch uint64, branch string) *State {
	return &State{Epoch: epoch, Branch: branch, targets: table[fleet.Target]{}, pins: table[Pin]{}, freezes: table[Freeze]{}, binaries: table[BinarySetting]{}, refs: table[Ref]{},
		approvals: table[Approval]{}, exports: table[[]exported.Own]{}, minimumGenerations: map[fleet.TargetID]fleet.Have{}, previous: map[fleet.TargetID]fleet.Assignment{}}
}

// Fold takes an event in. Events may come twice and in any order.
func (s *State) Fold(e Event) {
	switch e.What {
	case TargetEvent:
		s.targets.put(e.Key, e.Rev, e.Target)
	case PinEvent:
		s.pins.put(e.Key, e.Rev, e.Pin)
	case FreezeEvent:
		s.freezes.put(e.Key, e.Rev, e.Freeze)
	case BinaryEvent:
		s.binaries.put(e.Key, e.Rev, e.Binary)
	case RefEvent:
		s.refs.put(e.Key, e.Rev, e.Ref)
	case ApprovalEvent:
		s.approvals.put(e.Key, e.Rev, e.Approval)
	case ExportsEvent:
		s.exports.put(e.Key, e.Rev, e.Exports)
	case MinimumGenerationEvent:
		if id := fleet.TargetID(e.Key); e.MinimumGeneration != nil && above(*e.MinimumGeneration, s.minimumGenerations[id]) {
			s.minimumGenerations[id] = fleet.Have{Epoch: e.MinimumGeneration.Epoch, Generation: e.MinimumGeneration.Generation}
		}
	case AssignmentEvent:
		if e.Assignment != nil {
			s.assigned(*e.Assignment)
		}
	}
}

func (s *State) assigned(a fleet.Assignment) {
	if old, ok := s.previous[a.Target]; !ok || old.Newer(a) < 0 {
		s.previous[a.Target] = a
	}
}

// Took takes in what was computed of it, once that is durable.
func (s *State) Took(out Output) {
	for _, a := range out.Assignments {
		s.assigned(a)
	}
}

// Begin begins an epoch; one that is not above the present one does nothing.
func (s *State) Begin(epoch uint64) { s.Epoch = max(s.Epoch, epoch) }

// Input is what is to be computed now; revisions are by commit. It shares what the state
// keeps, so it is good until the next event.
func (s *State) Input(now int64, revisions map[string]Contents) Input {
	in := Input{Now: now, Epoch: s.Epoch, Branch: s.Branch, MaxPinned: s.MaxPinned, Targets: s.targets.list(), Pins: s.pins.list(), Freezes: s.freezes.list(), Binaries: s.binaries.list(),
		Exports: map[fleet.TargetID][]exported.Own{}, Refs: map[string]Ref{}, Revisions: revisions, Previous: s.previous, MinimumGenerations: s.minimumGenerations, Approvals: s.approvals.list()}
	for id, e := range s.exports {
		if e.value != nil {
			in.Exports[fleet.TargetID(id)] = *e.value
		}
	}
	for name, e := range s.refs {
		if e.value != nil {
			in.Refs[name] = *e.value
		}
	}
	return in
}

// Marshal is the canonical form: hubs that know the same have the same bytes, however
// they came to know it.
func (s *State) Marshal() []byte {
	in := s.Input(0, nil)
	text, err := json.MarshalIndent(struct {
		Format    string                              `json:"format"`
		Epoch     uint64                              `json:"epoch"`
		Branch    string                              `json:"branch"`
		Targets   []fleet.Target                      `json:"targets"`
		Pins      []Pin                               `json:"pins"`
		Freezes   []Freeze                            `json:"freezes"`
		Binaries  []BinarySetting                     `json:"programs,omitempty"`
		Refs      map[string]Ref                      `json:"refs"`
		Approvals []Approval                          `json:"approvals"`
		Floors    map[fleet.TargetID]fleet.Have       `json:"floors"`
		Exports   map[fleet.TargetID][]exported.Own   `json:"exports"`
		Previous  map[fleet.TargetID]fleet.Assignment `json:"assignments"`
	}{"fettle.assign/1", s.Epoch, s.Branch, in.Targets, in.Pins, in.Freezes, in.Binaries, in.Refs, in.Approvals, in.MinimumGenerations, in.Exports, in.Previous}, "", " ")
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return append(text, '\n')
}
