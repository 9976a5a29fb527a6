package view

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// The states of targets, and of modules on targets, are defined here and nowhere else: lists,
// details, counts and metrics all show these.

// Unreported is the state of a module that its target has said nothing of yet, or not for too
// long. It is not ready.
const Unreported fleet.Readiness = "unknown"

// onTarget is what the state of a module on a target follows from.
type onTarget struct {
	reported fleet.Readiness // what the target said last; "" for nothing
	silent   bool            // the target has said nothing for too long
	cloned   bool            // several hosts report as this target, so that no report counts
	behind   bool            // other content is assigned than is applied
}

// state is what is known of the module. A failure is one until the target says otherwise;
// everything else is unknown if the target is silent. A module is ready only if what is
// assigned is what is applied.
func (m onTarget) state() fleet.Readiness {
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

// marks are the states of modules that a list shows, the worst first, and what a target
// is that has such a module.
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
		{fleet.ModuleApplying, document.Applying}, {fleet.ModuleBlocked, document.Blocked}, {fleet.ModulePending, document.Pending},
	}
}

// severity orders the states of modules, the worst first.
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

// known is what a target's state follows from.
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

// state is the worst that is true of a target.
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
