package view

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// The states of targets, and of modules on targets, are defined only here. Lists, details, counts
// and metrics show these states.

// Unreported is the state of a module without a report of its target, or without a recent one. It
// is not ready.
const Unreported fleet.Readiness = "unknown"

// moduleOnTarget is the input for the state of a module on a target.
type moduleOnTarget struct {
	reported fleet.Readiness // in the last report; "" without a report
	silent   bool            // the last contact is too long ago
	cloned   bool            // several hosts report as this target, so reports do not count
	behind   bool            // the applied content differs from the assigned content
}

// state returns the state of the module. A failure remains until a new report. Other states become
// unknown if the target is silent. A module is ready only if the assigned content is applied.
func (m moduleOnTarget) state() fleet.Readiness {
	switch {
	case m.cloned:
		return Unreported
	case m.reported == fleet.ModuleFailed:
		return m.reported
	case m.reported == "" || m.silent:
		return Unreported
	case m.reported == fleet.ModuleReady && m.behind:
		return fleet.ModulePending
	}
	return m.reported
}

// marks returns the states of modules that lists show, the worst first, and the resulting states of
// targets.
func marks() []struct {
	module fleet.Readiness
	target document.State
} {
	return []struct {
		module fleet.Readiness
		target document.State
	}{
		{fleet.ModuleFailed, document.Failed}, {fleet.ModuleDrifted, document.Drifted}, {fleet.ModuleFrozen, document.Frozen},
		{fleet.ModuleDeferred, document.Deferred},
		{fleet.ModuleApplying, document.Applying}, {fleet.ModuleBlocked, document.Blocked},
		{fleet.ModulePending, document.Pending},
	}
}

// severity returns the rank of a state of a module; the worst has the lowest.
func severity(r fleet.Readiness) int {
	for i, m := range marks() {
		if m.module == r {
			return i
		}
	}
	if r == fleet.ModuleReady {
		return len(marks()) + 1
	}
	return len(marks()) // unknown
}

// known is the input for the state of a target.
type known struct {
	active, reported bool
	cloned           bool // several hosts report as this target
	silent           bool
	frozen           bool // or its assignment was withdrawn
	failed           bool
	drift            int
	assigned         document.Order
	accepted         document.Order
	behind           int
	states           int
}

// state returns the most severe state that applies.
func (k known) state() document.State {
	has := func(of document.State) bool {
		for i, m := range marks() {
			if m.target == of && k.states&(1<<i) != 0 {
				return true
			}
		}
		return false
	}
	switch {
	case !k.active:
		return document.NotInFleet
	case k.cloned:
		return document.Cloned
	case k.failed || has(document.Failed):
		return document.Failed
	case k.reported && k.silent:
		return document.Unresponsive
	case k.drift > 0 || has(document.Drifted):
		return document.Drifted
	case !k.reported:
		return document.Unknown
	case k.frozen || has(document.Frozen):
		return document.Frozen
	case has(document.Deferred):
		return document.Deferred
	case has(document.Applying):
		return document.Applying
	case has(document.Blocked):
		return document.Blocked
	case k.assigned == document.Order{}:
		return document.Unassigned
	case k.accepted != k.assigned || k.behind > 0 || has(document.Pending):
		return document.Pending
	}
	return document.Ready
}

// whether compares two booleans, false before true.
func whether(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
