package assign

import (
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang"
)

// Input is all that assignments depend on. Compute only reads it.
type Input struct {
	Now   int64  // seconds since 1970
	Epoch uint64 // of the store that keeps assignments
	// Branch is what targets without a pin follow.
	Branch string
	// Targets is the registry, in any order.
	Targets []fleet.Target
	// Pins are those besides the one that a target itself has.
	Pins    []Pin
	Freezes []Freeze
	// Programs say which program agents are to be.
	Binaries []BinarySetting
	// Refs are what Branch and the refs of pins resolved to, by what they are called.
	Refs map[string]Ref
	// Revisions are by commit. See Needed.
	Revisions map[string]Contents
	// Previous are the newest assignments, by target.
	Previous map[fleet.TargetID]fleet.Assignment
	// Floors are what agents said that they have. A hub with an older store than its
	// agents finds out by them.
	MinimumGenerations map[fleet.TargetID]fleet.Have
	// Approvals are of shrunk sets, and of sets of pins.
	Approvals []Approval
	// Exports are what targets export, by target.
	Exports map[fleet.TargetID][]exported.Own
	// MaxPinned is how many targets may be pinned; 0 is a twentieth of those that are
	// active, and 3 at least.
	MaxPinned int
	// Grant decides what is given now; nil is AtOnce.
	Grant Grant
}

// Ref is what a branch, tag or commit was resolved to.
type Ref struct {
	Commit string `json:"commit,omitempty"` // the last one that was found; "" when none was
	// Error is why it could not be resolved the last time.
	Error string `json:"error,omitempty"`
}

// Pin is a pin of a target, by a key of its own.
type Pin struct {
	Key    string         `json:"key"`
	Target fleet.TargetID `json:"target"`
	fleet.Pin
}

// Freeze keeps targets as they are: they get nothing new, and do not apply.
type Freeze struct {
	Key string `json:"key"`
	// Targets are whom it is for; none is all of them.
	Targets []fleet.TargetID `json:"targets,omitempty"`
	From    int64            `json:"from,omitempty"`  // seconds since 1970; 0 is at once
	Until   int64            `json:"until,omitempty"` // 0 has no end
	Reason  string           `json:"reason"`
	By      string           `json:"by,omitempty"`
	At      int64            `json:"at,omitempty"` // when an operator ordered it, ns since 1970
}

// AllKey is the key of the freeze of the whole fleet. It is not the identity of a target.
const AllKey = "all"

// InForce reports whether the freeze counts at a moment, in seconds since 1970.
func (f Freeze) InForce(now int64) bool { return f.From <= now && (f.Until == 0 || now < f.Until) }

// ApprovalHolds is how long an approval counts, in seconds.
const ApprovalHolds = 24 * 60 * 60

// Approval is a person's word that a set may become what the digest of an Alarm names.
// It counts for ApprovalHolds seconds.
type Approval struct {
	Digest string `json:"digest"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
}

// PinRollout is the Rollout of what a target has by a pin.
const PinRollout = "pin"

// Contents is what a repository says at one revision.
type Contents struct {
	Revision fleet.Revision
	// Enrolled is the Digest of the enrolled targets that it was asked with: their
	// labels choose modules.
	Enrolled string
	// Error is why it cannot be read; nothing else counts then.
	Error string
	// Top is the bundle of all that is no module.
	Top fleet.Bundle
	// Bundles are those of the modules, by directory.
	Bundles map[string]fleet.Bundle
	// Proofs are what ties them to the commit, by directory, "" for the top; one that is
	// missing is none.
	Proofs map[string]fleet.Bundle
	// Targets are by name, those that are only enrolled too.
	Targets map[string]Configured
}

// Configured is one target at one revision.
type Configured struct {
	Labels map[string]string // of the repository and of the registry
	// Modules are in the order of the catalog. Targets may share the slice.
	Modules []Module
	// Exported is what its modules ask other targets for. Targets may share the slice.
	Exported []lang.Exported
	// Mistakes are why it cannot become this, for people.
	Errors []string
}

// Module is a module of a target.
type Module struct {
	Directory string // below modules/
	Needs     []fleet.Need
	From      []string // what gives it: "target group web (fettle.hcl:7)"
}

// Grant decides what of a new assignment a target gets now. was is what it has, nil for
// nothing. The answer is want, was, or was with some of want's modules; why is for people.
// It must be pure.
type Grant func(was *fleet.Assignment, want fleet.Assignment) (give fleet.Assignment, why string)

// AtOnce grants all that is wanted.
func AtOnce(_ *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
	return want, "granted at once"
}

// Output is what is to be done.
type Output struct {
	// Assignments are the new ones, by name of the target. They are not signed.
	Assignments []fleet.Assignment
	// Alarms are what is wrong now, in a fixed order. One that was there before is
	// there again as long as it is so.
	Alarms []Alarm
	// Next is when the next pin or freeze begins or ends, seconds since 1970: then it
	// is worth computing again. 0 is never.
	Next int64
	// Epoch is the one that the hub has to begin because an agent has a newer
	// assignment than this hub knows of; 0 when there is none.
	Epoch uint64

	in       Input
	thoughts map[fleet.TargetID]thought
}
