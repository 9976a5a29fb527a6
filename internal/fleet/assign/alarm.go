package assign

import (
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// AlarmKind is what an alarm is about.
type AlarmKind string

// The kinds of alarms. All of them say that something stays as it was.
const (
	Unreadable         AlarmKind = "unreadable"     // a revision, or the repository
	Suspect            AlarmKind = "suspect"        // a module would lose too many targets: see Digest
	Unknown            AlarmKind = "unknown_target" // assigned, and not in the registry
	SameName           AlarmKind = "same_name"      // two targets that are active
	Unresolved         AlarmKind = "unresolved_pin" // its ref leads nowhere
	Conflict           AlarmKind = "pins_conflict"  // two pins of the same thing to different refs
	TooManyPinned      AlarmKind = "too_many_pinned"
	ConfigurationError AlarmKind = "mistake" // in the modules of a target
	NoBundle           AlarmKind = "no_bundle"
	TooMuchGiven       AlarmKind = "too_much_exported" // for one target to be given all of it
	WrongValue         AlarmKind = "wrong_value"       // exported, and of another type than the output
	Behind             AlarmKind = "behind"            // an agent has a newer assignment than this hub knows of
	Incompatible       AlarmKind = "incompatible"      // a hub refuses an agent because of its protocol version
	Cloned             AlarmKind = "cloned"            // several hosts have the identity of a target
	Redundancy         AlarmKind = "redundancy"        // not everything is on as many hubs as it is to be
)

// MaxNamed is how many targets an alarm names.
const MaxNamed = 20

// Alarm is one thing that is wrong, for people and for notifications.
type Alarm struct {
	Kind   AlarmKind `json:"kind"`
	Text   string    `json:"text"` // what, and what to do
	Module string    `json:"module,omitempty"`
	// Targets are up to MaxNamed of the Count targets that it is about, sorted.
	Targets []fleet.TargetID `json:"targets,omitempty"`
	Count   int              `json:"count,omitempty"`
	// Digest names the set that an approval has to name.
	Digest string `json:"digest,omitempty"`
}

// alarms gathers alarms: those that say the same are one, about all of its targets. The
// zero value is empty.
type alarms struct {
	by map[string]*gathered
}

type gathered struct {
	Alarm
	ids map[fleet.TargetID]bool
}

// addWith adds an alarm about a target, "" for none.
func (l *alarms) addWith(a Alarm, id fleet.TargetID) {
	if l.by == nil {
		l.by = map[string]*gathered{}
	}
	key := string(a.Kind) + "\x00" + a.Module + "\x00" + a.Text + "\x00" + a.Digest
	g := l.by[key]
	if g == nil {
		g = &gathered{Alarm: a, ids: map[fleet.TargetID]bool{}}
		l.by[key] = g
	}
	if id != "" {
		g.ids[id] = true
	}
}

func (l *alarms) addAll(a Alarm, ids []fleet.TargetID) {
	for _, id := range ids {
		l.addWith(a, id)
	}
}

// add adds one about a target.
func (l *alarms) add(kind AlarmKind, id fleet.TargetID, format string, args ...any) {
	l.addWith(Alarm{Kind: kind, Text: fmt.Sprintf(format, args...)}, id)
}

// say adds one about no target.
func (l *alarms) say(kind AlarmKind, format string, args ...any) {
	l.add(kind, "", format, args...)
}

// sorted are all of them, by kind, module and text.
func (l *alarms) sorted() []Alarm {
	var out []Alarm
	for _, key := range slices.Sorted(maps.Keys(l.by)) {
		g := l.by[key]
		a := g.Alarm
		a.Count = len(g.ids)
		a.Targets = slices.Sorted(maps.Keys(g.ids))
		a.Targets = a.Targets[:min(len(a.Targets), MaxNamed):min(len(a.Targets), MaxNamed)]
		out = append(out, a)
	}
	return out
}
