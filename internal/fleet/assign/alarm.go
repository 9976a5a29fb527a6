package assign

import (
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// AlarmKind is the cause of an alarm.
type AlarmKind string

// The kinds of alarms. If Compute returns an alarm, the affected assignments do not change.
const (
	Unreadable          AlarmKind = "unreadable"          // a revision or the repository cannot be read
	MassRemoval         AlarmKind = "mass_removal"        // a module would be removed from too many targets: see Digest
	UnregisteredTarget  AlarmKind = "unregistered_target" // a target has an assignment, but no registry entry
	SameName            AlarmKind = "same_name"           // two active targets have the same name
	Unresolved          AlarmKind = "unresolved_pin"      // the ref of a pin does not exist
	Conflict            AlarmKind = "pins_conflict"       // two pins of the same target or module have different refs
	TooManyPinned       AlarmKind = "too_many_pinned"
	ConfigurationError  AlarmKind = "configuration_error" // in the modules of a target
	NoBundle            AlarmKind = "no_bundle"
	TooMuchExported     AlarmKind = "too_much_exported"    // the exported values for one target are too large
	WrongValue          AlarmKind = "wrong_value"          // an exported value does not have the type of the output
	Behind              AlarmKind = "behind"               // an agent has a newer assignment than this hub
	Incompatible        AlarmKind = "incompatible"         // a hub refuses an agent because of its protocol version
	Cloned              AlarmKind = "cloned"               // several hosts have the identity of a target
	Redundancy          AlarmKind = "redundancy"           // some data has fewer copies than configured
	HubLimit            AlarmKind = "hub_limit"            // a hub is close to a limit, such as the size of its disk
	RolloutPaused       AlarmKind = "rollout_paused"       // a rollout paused by itself, and an operator must decide
	RolloutWaits        AlarmKind = "rollout_waits"        // a rollout waits for the approval of users
	RolloutHeld         AlarmKind = "rollout_held"         // targets lack content that is held
	ExemptionRequested  AlarmKind = "exemption_requested"  // an exemption from windows waits for the approval of users
	WindowsIgnored      AlarmKind = "windows_ignored"      // targets may change outside of their windows
	LockOverdue         AlarmKind = "lock_overdue"         // targets did not release slots of a lock in time
	LockQueue           AlarmKind = "lock_queue"           // targets wait for a slot of a lock for too long
	EnvironmentConflict AlarmKind = "environment_conflict" // an environment that an operator created has no effect
	BarrierClosed       AlarmKind = "barrier_closed"       // targets wait at a barrier for too long
	ScopeFailed         AlarmKind = "scope_failed"         // the verdict of a scope is failed
	TaskFailed          AlarmKind = "task_failed"          // a task of a scope failed, and is not tried again
	TaskUndecided       AlarmKind = "task_undecided"       // a user must decide whether a task is done
)

// MaxAlarmTargets limits the targets in an alarm.
const MaxAlarmTargets = 20

// Alarm is a problem, for users and notifications.
type Alarm struct {
	Kind   AlarmKind `json:"kind"`
	Text   string    `json:"text"` // the problem and the remedy, in sentences
	Module string    `json:"module,omitempty"`
	// Targets contains up to MaxAlarmTargets of the Count affected targets, sorted.
	Targets []fleet.TargetID `json:"targets,omitempty"`
	Count   int              `json:"count,omitempty"`
	// Digest identifies the change to approve; "" if no approval is possible.
	Digest string `json:"digest,omitempty"`
	// Held is the content that is held, or nil.
	Held *fleet.HeldContent `json:"held,omitempty"`
	// OfTargets means that the text contains nothing except data of the targets, and that all of them belong directly to
	// Organization. Users of an organization see only such alarms.
	OfTargets    bool               `json:"of_targets,omitempty"`
	Organization fleet.Organization `json:"organization,omitempty"`
}

// alarms collects alarms. Equal alarms about several targets become one. The zero value is empty.
type alarms struct {
	by map[string]*gathered
}

type gathered struct {
	Alarm
	ids map[fleet.TargetID]bool
}

// addWith adds an alarm about a target; "" means no target.
func (l *alarms) addWith(a Alarm, id fleet.TargetID) {
	if l.by == nil {
		l.by = map[string]*gathered{}
	}
	key := string(a.Kind) + "\x00" + a.Module + "\x00" + a.Text + "\x00" + a.Digest + "\x00" + string(a.Organization)
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

// add adds an alarm about a target.
func (l *alarms) add(kind AlarmKind, id fleet.TargetID, format string, args ...any) {
	l.addWith(Alarm{Kind: kind, Text: fmt.Sprintf(format, args...)}, id)
}

// addOf adds an alarm whose text contains nothing except data of the target. Targets of several organizations get one
// alarm for each organization.
func (l *alarms) addOf(kind AlarmKind, t fleet.Target, format string, args ...any) {
	l.addWith(Alarm{Kind: kind, Text: fmt.Sprintf(format, args...), OfTargets: true, Organization: t.Organization}, t.ID)
}

// say adds an alarm about no target.
func (l *alarms) say(kind AlarmKind, format string, args ...any) {
	l.add(kind, "", format, args...)
}

// sorted returns all alarms, sorted by kind, module and text.
func (l *alarms) sorted() []Alarm {
	var out []Alarm
	for _, key := range slices.Sorted(maps.Keys(l.by)) {
		g := l.by[key]
		a := g.Alarm
		a.Count = len(g.ids)
		a.Targets = slices.Sorted(maps.Keys(g.ids))
		a.Targets = a.Targets[:min(len(a.Targets), MaxAlarmTargets):min(len(a.Targets), MaxAlarmTargets)]
		out = append(out, a)
	}
	return out
}
