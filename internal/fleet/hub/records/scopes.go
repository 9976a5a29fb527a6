package records

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

// The supported formats.
const (
	ScopeFormat = "fettle.scope/1"
	TaskFormat  = "fettle.task/1"
	UndoFormat  = "fettle.task/2" // of a task with an undo
)

// MaxVerdicts limits the earlier verdicts that a Scope contains.
const MaxVerdicts = 50

// Scope is a scope that the repository declares, with its verdict. Its key is KIND/NAME. Times are in ms since 1970.
type Scope struct {
	Kind  query.ScopeKind `json:"kind"`
	Scope query.Scope     `json:"scope"` // without the inputs of its tasks
	// Undeclared means that the repository no longer declares the scope, since the time Removed.
	Undeclared bool  `json:"undeclared,omitempty"`
	Removed    int64 `json:"removed,omitempty"`
	// Verdict is the newest verdict that the leading hub stored. The reasons can be a minute old.
	Verdict ScopeVerdict   `json:"verdict"`
	Earlier []ScopeVerdict `json:"earlier,omitempty"` // the newest last
	Wrote   int64          `json:"wrote,omitempty"`   // time of the last write of a verdict
	// HubChecks are the newest results of the checks that the leading hub tests, and Hub is the hub that stored them.
	Hub       string              `json:"hub,omitempty"`
	HubChecks []fleet.CheckResult `json:"hub_checks,omitempty"`
}

// ScopeVerdict is a verdict of a scope since a time.
type ScopeVerdict struct {
	Verdict scope.Verdict  `json:"verdict,omitempty"`
	Since   int64          `json:"since,omitempty"`
	Reasons []scope.Reason `json:"reasons,omitempty"`
}

// Restoration is the newest restoration of the fleet after which the leading hub has created the missing tasks.
type Restoration struct {
	At int64 `json:"at"` // ms since 1970
}

// RestorationKey is the key of the only Restoration of this kind. LossKey is the key of the newest time at which a
// target proved that the store lost data.
const (
	RestorationKey = "tasks"
	LossKey        = "loss"
)

// ParseScope decodes a scope. An unknown format is an error.
func ParseScope(b []byte) (Formatted[Scope], error) { return parseFormatted[Scope](b, ScopeFormat) }

// ParseTask decodes the state of a task. An unknown format is an error: a hub that understands it only in part could
// begin a second attempt.
func ParseTask(b []byte) (Formatted[task.State], error) {
	return parseFormatted[task.State](b, TaskFormat, UndoFormat)
}

// TaskFormatOf returns the format of the state of a task. Hubs without undos cannot read the state of a task that has
// had one: they would do it again, or forget its undo.
func TaskFormatOf(s task.State) string {
	if s.Undo != nil || s.Undone > 0 || s.Open != nil && s.Open.Undo {
		return UndoFormat
	}
	return TaskFormat
}
