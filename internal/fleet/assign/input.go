package assign

import (
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/window"
)

// Input contains everything on which assignments depend. Compute does not modify it.
type Input struct {
	Now   int64  // seconds since 1970
	Epoch uint64 // of the store of assignments
	// Branch is the branch that targets without a pin follow.
	Branch string
	// Targets is the registry, in any order.
	Targets []fleet.Target
	// Pins are additional pins. Each target can also have one in its registry entry.
	Pins    []Pin
	Freezes []Freeze
	// Binaries are the desired binaries of agents.
	Binaries []BinarySetting
	// Refs are the commits of Branch and of the refs of pins, by name.
	Refs map[string]Ref
	// Revisions are the compiled commits. See Needed.
	Revisions map[string]Contents
	// Previous are the newest assignments, by target.
	Previous map[fleet.TargetID]fleet.Assignment
	// MinimumGenerations are the assignments that agents have proved to have. They show that the
	// store of this hub is outdated.
	MinimumGenerations map[fleet.TargetID]fleet.Have
	// Approvals are approvals of blocked removals and of too many pins.
	Approvals []Approval
	// Exports are the exported values, by target.
	Exports map[fleet.TargetID][]exported.Own
	// MaxPinned limits the number of pinned targets; 0 means a twentieth of the active targets, and
	// at least 3.
	MaxPinned int
	// Plan decides which parts of their desired assignments targets get now; nil means AtOnce.
	Plan func([]Desired) Grant
}

// Ref is the result for a branch, tag or commit.
type Ref struct {
	Commit string `json:"commit,omitempty"` // the last commit that was found, or ""
	// Error is the error of the last attempt, or "".
	Error string `json:"error,omitempty"`
}

// Pin is an additional pin of a target.
type Pin struct {
	Key    string         `json:"key"`
	Target fleet.TargetID `json:"target"`
	fleet.Pin
}

// Freeze blocks targets: they get no new assignments and do not apply.
type Freeze struct {
	Key string `json:"key"`
	// Targets are the frozen targets; none means all targets.
	Targets []fleet.TargetID `json:"targets,omitempty"`
	From    int64            `json:"from,omitempty"`  // seconds since 1970; 0 means at once
	Until   int64            `json:"until,omitempty"` // seconds since 1970; 0 means no end
	Reason  string           `json:"reason"`
	By      string           `json:"by,omitempty"`
	At      int64            `json:"at,omitempty"` // time of the operator's request, ns since 1970
}

// AllKey is the key of the freeze of the whole fleet. It is not a target ID.
const AllKey = "all"

// InForce reports whether the freeze is in force at a time, in seconds since 1970.
func (f Freeze) InForce(now int64) bool { return f.From <= now && (f.Until == 0 || now < f.Until) }

// ApprovalValidity is the validity of an approval, in seconds.
const ApprovalValidity = 24 * 60 * 60

// Approval is the approval by a user of the change with the digest in an Alarm. It is valid for
// ApprovalValidity seconds.
type Approval struct {
	Digest string `json:"digest"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
}

// PinRollout is the Rollout of parts that are assigned because of a pin.
const PinRollout = "pin"

// Contents is the compiled repository at one revision.
type Contents struct {
	Revision fleet.Revision
	// Author is the author of the commit as git shows it, NAME <MAIL>; "" if it is not known.
	Author string
	// Enrolled is the EnrolledDigest of the targets with which it was compiled, because their
	// labels select modules.
	Enrolled string
	// Error is the reason why the revision is unusable. The other fields are empty then.
	Error string
	// Root is the root bundle.
	Root fleet.Bundle
	// Bundles are the bundles of the modules, by directory.
	Bundles map[string]fleet.Bundle
	// Proofs are the proofs of the bundles, by directory, with "" for the root bundle. A revision
	// without a signature has none.
	Proofs map[string]fleet.Bundle
	// Targets are the configurations by name, also of targets that are only enrolled.
	Targets map[string]Configured
	// Strategies are the strategies that the revision declares.
	Strategies []query.Strategy
}

// Configured is the configuration of one target at one revision.
type Configured struct {
	Labels map[string]string // of the repository and of the registry
	// Modules are in the order of the catalog. Targets may share the slice.
	Modules []Module
	// ExportUses are the uses of exported values by the modules. Targets may share the slice.
	ExportUses []source.Exported
	Strategy   string // the name of the strategy of its rollouts; "" means none
	// Windows are the windows for its changes, sorted by name. Targets may share the slice.
	Windows []window.Window
	// Errors are configuration errors for users, because of which the revision is unusable for the
	// target.
	Errors []string
}

// Module is a module of a target.
type Module struct {
	Directory string // below modules/
	Needs     []fleet.Need
	From      []string // the origins of the module: "target group web (fettle.hcl:7)"
}

// Output is the result of a computation.
type Output struct {
	// Assignments are the new assignments, sorted by the name of the target. They are not signed.
	Assignments []fleet.Assignment
	// Alarms are the present problems, sorted. A problem that lasts is in the output of each
	// computation.
	Alarms []Alarm
	// Next is the time of the next begin or end of a pin or freeze, in seconds since 1970; 0 means
	// never. The caller computes again at this time.
	Next int64
	// Epoch is the epoch that the hub must begin, because an agent has a newer assignment than this
	// hub; 0 means none.
	Epoch uint64

	in       Input
	thoughts map[fleet.TargetID]thought
}
