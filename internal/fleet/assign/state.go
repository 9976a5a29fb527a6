package assign

import (
	"encoding/json"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// EventKind is the kind of object that an event is about.
type EventKind string

// The kinds of objects, with their key.
const (
	TargetEvent            EventKind = "target" // a change of the registry; key: target ID
	PinEvent               EventKind = "pin"
	FreezeEvent            EventKind = "freeze"
	ReplacementEvent       EventKind = "replacement" // a rollback of the fleet; key: its part
	EnvironmentEvent       EventKind = "environment" // an environment that an operator created; key: its name
	ExemptionEvent         EventKind = "exemption"   // of targets from their windows; key: its ID
	BinaryEvent            EventKind = "program"
	RefEvent               EventKind = "ref" // a new result for a branch or tag; key: its name
	ApprovalEvent          EventKind = "approval"
	MinimumGenerationEvent EventKind = "floor"      // the proved assignment of an agent; key: target ID
	ExportsEvent           EventKind = "exports"    // the exported values of a target; key: target ID
	LimitsEvent            EventKind = "limits"     // the limits of organizations; key: LimitsKey
	AssignmentEvent        EventKind = "assignment" // an assignment in the store; key: target ID
)

// Event contains the complete present value of one object, in the field of its kind. If the object
// was removed, all fields are nil.
type Event struct {
	// Rev is the revision of the entry: of two events about the same object, the higher revision
	// wins. Minimum generations and assignments have their own order.
	Rev  uint64
	Kind EventKind
	Key  string

	Target            *fleet.Target
	Pin               *Pin
	Freeze            *Freeze
	Replacement       *Replacement
	Exemption         *Exemption
	Environment       *Environment
	Binary            *BinarySetting
	Ref               *Ref
	Approval          *Approval
	MinimumGeneration *fleet.Have
	Exports           *[]exported.Own // sorted
	Limits            *[]fleet.Limits
	Assignment        *fleet.Assignment
}

// LimitsKey is the key of the only object with limits of organizations.
const LimitsKey = "declared"

// State is the state after all events so far. It is not safe for concurrent use.
type State struct {
	Epoch     uint64
	Branch    string
	MaxPinned int // see Input

	targets            table[fleet.Target]
	registry           registry
	shared             *shared
	pins               table[Pin]
	freezes            table[Freeze]
	replacements       table[Replacement]
	exemptions         table[Exemption]
	environments       table[Environment]
	binaries           table[BinarySetting]
	refs               table[Ref]
	approvals          table[Approval]
	exports            table[[]exported.Own]
	limits             table[[]fleet.Limits]
	minimumGenerations map[fleet.TargetID]fleet.Have
	previous           map[fleet.TargetID]fleet.Assignment
}

// table stores the newest value of each object. A removed object stays as nil, so that an older
// event cannot restore it.
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

// list returns the existing values, sorted by key.
func (t table[T]) list() []T {
	out := []T{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if v := t[key].value; v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// NewState returns an empty state.
func NewState(epoch uint64, branch string) *State {
	return &State{Epoch: epoch, Branch: branch, targets: table[fleet.Target]{}, pins: table[Pin]{},
		freezes: table[Freeze]{}, replacements: table[Replacement]{}, exemptions: table[Exemption]{},
		environments: table[Environment]{},
		binaries:     table[BinarySetting]{}, refs: table[Ref]{},
		approvals: table[Approval]{}, exports: table[[]exported.Own]{}, limits: table[[]fleet.Limits]{},
		minimumGenerations: map[fleet.TargetID]fleet.Have{},
		previous:           map[fleet.TargetID]fleet.Assignment{}}
}

// Fold applies an event. Events may be repeated and in any order.
func (s *State) Fold(e Event) {
	if e.Kind != AssignmentEvent {
		s.shared = nil
	}
	switch e.Kind {
	case TargetEvent:
		s.targets.put(e.Key, e.Rev, e.Target)
		s.registry = registry{}
	case PinEvent:
		s.pins.put(e.Key, e.Rev, e.Pin)
	case FreezeEvent:
		s.freezes.put(e.Key, e.Rev, e.Freeze)
	case ReplacementEvent:
		s.replacements.put(e.Key, e.Rev, e.Replacement)
	case ExemptionEvent:
		s.exemptions.put(e.Key, e.Rev, e.Exemption)
	case EnvironmentEvent:
		s.environments.put(e.Key, e.Rev, e.Environment)
	case BinaryEvent:
		s.binaries.put(e.Key, e.Rev, e.Binary)
	case RefEvent:
		s.refs.put(e.Key, e.Rev, e.Ref)
	case ApprovalEvent:
		s.approvals.put(e.Key, e.Rev, e.Approval)
	case ExportsEvent:
		s.exports.put(e.Key, e.Rev, e.Exports)
	case LimitsEvent:
		s.limits.put(e.Key, e.Rev, e.Limits)
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

// ApplyOutput applies the result of a computation after it became durable.
func (s *State) ApplyOutput(out Output) {
	for _, a := range out.Assignments {
		s.assigned(a)
	}
}

// Begin begins an epoch, if it is above the present one.
func (s *State) Begin(epoch uint64) { s.Epoch = max(s.Epoch, epoch) }

// Input returns the input of a computation; revisions are by commit. It shares memory with the
// state, so it is valid until the next event.
func (s *State) Input(now int64, revisions map[string]Contents) Input {
	of := EnvironmentsOf(s.environments.list(), now)
	switch {
	case s.registry.stored == nil:
		s.registry = newRegistry(s.targets.list(), of)
	case !s.registry.isOf(of):
		s.registry = newRegistry(s.registry.stored, of)
	}
	if s.shared == nil {
		s.shared = newShared()
	}
	in := Input{Now: now, shared: s.shared, Epoch: s.Epoch, Branch: s.Branch, MaxPinned: s.MaxPinned,
		Targets: s.registry.targets, Enrolled: s.registry.enrolled, Pins: s.pins.list(), Freezes: s.freezes.list(),
		Replacements: s.replacements.list(), Exemptions: s.exemptions.list(),
		Environments: s.environments.list(), Binaries: s.binaries.list(),
		Exports: map[fleet.TargetID][]exported.Own{}, Refs: map[string]Ref{}, Revisions: revisions, Previous: s.previous,
		MinimumGenerations: s.minimumGenerations, Approvals: s.approvals.list()}
	if e := s.limits[LimitsKey]; e.value != nil {
		in.Limits = *e.value
	}
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

// Marshal returns the canonical form: equal states have equal bytes, independently of the order of
// events.
func (s *State) Marshal() []byte {
	in := s.Input(0, nil)
	in.Targets = s.targets.list()
	text, err := json.MarshalIndent(struct {
		Format    string                              `json:"format"`
		Epoch     uint64                              `json:"epoch"`
		Branch    string                              `json:"branch"`
		Targets   []fleet.Target                      `json:"targets"`
		Pins      []Pin                               `json:"pins"`
		Freezes   []Freeze                            `json:"freezes"`
		Binaries  []BinarySetting                     `json:"programs,omitempty"`
		Replaced  []Replacement                       `json:"replacements,omitempty"`
		Exempt    []Exemption                         `json:"exemptions,omitempty"`
		Created   []Environment                       `json:"environments,omitempty"`
		Limits    []fleet.Limits                      `json:"limits,omitempty"`
		Refs      map[string]Ref                      `json:"refs"`
		Approvals []Approval                          `json:"approvals"`
		Floors    map[fleet.TargetID]fleet.Have       `json:"floors"`
		Exports   map[fleet.TargetID][]exported.Own   `json:"exports"`
		Previous  map[fleet.TargetID]fleet.Assignment `json:"assignments"`
	}{"fettle.assign/1", s.Epoch, s.Branch, in.Targets, in.Pins, in.Freezes, in.Binaries, in.Replacements, in.Exemptions,
		in.Environments, in.Limits, in.Refs, in.Approvals, in.MinimumGenerations, in.Exports, in.Previous}, "", " ")
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	return append(text, '\n')
}
