package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/selection"
)

// Kinds of conditions other than kinds of alarms and states.
const (
	AnyAlarm   = "alarm" // all alarms
	HubProblem = "hub"   // the hub itself has a problem
)

// States returns the states of targets that are conditions.
func States() []document.State {
	return []document.State{document.Failed, document.Unresponsive, document.Drifted, document.Unknown, document.Blocked}
}

func alarms() []assign.AlarmKind {
	return []assign.AlarmKind{assign.Unreadable, assign.MassRemoval, assign.UnregisteredTarget, assign.SameName,
		assign.Unresolved, assign.Conflict, assign.TooManyPinned,
		assign.ConfigurationError, assign.NoBundle, assign.TooMuchExported, assign.WrongValue, assign.Behind,
		assign.Incompatible, assign.Cloned, assign.Redundancy, assign.HubLimit, assign.RolloutPaused, assign.RolloutWaits,
		assign.RolloutHeld, assign.ExemptionRequested, assign.WindowsIgnored, assign.LockOverdue, assign.LockQueue,
		assign.EnvironmentConflict, assign.BarrierClosed, assign.ScopeFailed, assign.TaskFailed, assign.TaskUndecided}
}

// Events returns the kinds of events that a rule can select. Kinds that are conditions too are
// omitted.
func Events() []string {
	out := []string{}
	for _, k := range []fleet.HubEventKind{fleet.TargetEnrolled, fleet.Approved, fleet.Labelled, fleet.Moved, fleet.Pinned,
		fleet.Unpinned, fleet.TargetFrozen, fleet.TargetUnfrozen, fleet.TargetRetired, fleet.TargetRevoked,
		fleet.RepositoryUpdated, fleet.JobChanged, fleet.LeaderChanged, fleet.RequestReceived, fleet.RequestPolicyChanged,
		fleet.ServiceCertified, fleet.Suspected, fleet.Trusted, fleet.LockChanged, fleet.BarrierChanged,
		fleet.SignalChanged, fleet.ScopeChanged, fleet.TaskChanged} {
		out = append(out, string(k))
	}
	for _, k := range []fleet.EventKind{fleet.Refused, fleet.Applied, fleet.RolledBack, fleet.Repaired, fleet.Ran,
		fleet.Upgraded} {
		out = append(out, string(k))
	}
	return out
}

// Kinds returns all kinds that a rule can select.
func Kinds() []string {
	out := []string{AnyAlarm, HubProblem}
	for _, s := range States() {
		out = append(out, string(s))
	}
	for _, a := range alarms() {
		out = append(out, string(a))
	}
	return append(out, Events()...)
}

// SelectedKinds returns the kinds that a rule selects.
func SelectedKinds(r document.Notification) []string {
	if len(r.On) > 0 {
		return r.On
	}
	return []string{AnyAlarm, string(document.Failed), string(document.Unresponsive), HubProblem}
}

// SelectsCondition reports whether a rule selects a kind of condition.
func SelectsCondition(r document.Notification, kind string) bool {
	on := SelectedKinds(r)
	return slices.Contains(on, kind) || slices.Contains(on, AnyAlarm) && slices.Contains(alarms(), assign.AlarmKind(kind))
}

// Check returns an error for an invalid rule.
func Check(r document.Notification) error {
	errs := []error{CheckName(r.Name)}
	for _, k := range r.On {
		if !slices.Contains(Kinds(), k) {
			errs = append(errs, fmt.Errorf("cannot notify about %.40q: use one of %s", k, strings.Join(Kinds(), ", ")))
		}
	}
	if s, err := selection.Parse(r.Select); err != nil {
		errs = append(errs, err)
	} else if len(s.Files()) > 0 {
		errs = append(
			errs, errors.New("cannot use a file in the selection: a hub reads no such files. List the targets, or use a label"))
	}
	if r.Every < 0 || r.Every > int64(24*time.Hour) {
		errs = append(errs, errors.New("cannot gather for a negative time, or for more than a day"))
	}
	all := channelsOf(r)
	if len(all) != 1 {
		errs = append(errs, errors.New("cannot send notices: a rule needs exactly one "+channelNames()))
	}
	for _, c := range all {
		errs = append(errs, c.Check())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := render(r, example(r))
	return err
}
