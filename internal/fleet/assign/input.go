package assign

import (
	"cmp"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Input contains everything on which assignments depend. Compute does not modify it.
type Input struct {
	Now   int64  // seconds since 1970
	Epoch uint64 // of the store of assignments
	// Branch is the branch that targets without a pin follow.
	Branch string
	// Targets is the registry, in any order.
	Targets []fleet.Target
	// Enrolled is the EnrolledDigest of Targets; "" means that it must be computed.
	Enrolled string
	// Pins are additional pins. Each target can also have one in its registry entry.
	Pins    []Pin
	Freezes []Freeze
	// Limits are the last known limits of organizations: see DeclaredLimits.
	Limits []fleet.Limits
	// Environments are the environments that operators created. They need not be in force.
	Environments []Environment
	// Replacements are rollbacks of the fleet, at most one for each part.
	Replacements []Replacement
	// Exemptions let targets change outside of their windows.
	Exemptions []Exemption
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
	// Zones are the time zones that agents reported, for windows with the zone of the target.
	Zones map[fleet.TargetID]string
	// MaxPinned limits the number of pinned targets; 0 means a twentieth of the active targets, and
	// at least 3.
	MaxPinned int
	// Plan decides which parts of their desired assignments targets get now; nil means AtOnce.
	Plan func([]Desired) Grant

	shared *shared // results of earlier computations with the same contents; nil means none
}

// Replacement is a rollback of the fleet: content of one commit is held, and targets that follow the branch get the
// content of another commit instead. It has an effect on a part as long as the head of the branch has exactly the held
// content of this part. A pin has priority.
type Replacement struct {
	Part   string `json:"part"`   // a directory of a module, "top", or AllParts
	Held   string `json:"held"`   // the commit whose content is held
	Commit string `json:"commit"` // the commit whose content replaces it
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // seconds since 1970
	// Permit is the signed permit for Commit, for targets that accept only signed commits. It can be "".
	Permit string `json:"permit,omitempty"`
}

// AllParts is the Part of a replacement of all parts that both commits have.
const AllParts = "all"

// heldKey is content of a part that is held.
type heldKey struct{ part, digest string }

// replaced is the effect of a Replacement on one part.
type replaced struct {
	Replacement
	held   string // digest of the bundle
	digest string // of the bundle that replaces it
	with   Contents
	why    string // why with cannot be used, or "": then targets that do not have the held content do not change
}

// BinarySetting is the desired binary for the agents of some targets.
type BinarySetting struct {
	Key string `json:"key"`
	At  int64  `json:"at"` // ns since 1970; the most recent setting for an agent wins
	By  string `json:"by,omitempty"`
	// Select is a selection as for -t, of names and labels. It is evaluated for each computation,
	// so it also matches targets that enrol later.
	Select []string `json:"select,omitempty"`
	// Targets are the targets that matched at first. They are used if the selection fails, because
	// a target in it has left the fleet.
	Targets []fleet.TargetID `json:"targets"`
	Binary  fleet.Binary     `json:"program"`
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
	// Organization is the organization whose targets are frozen, instead of Targets. Hubs of earlier versions do not know
	// the field, so Targets must contain an ID that no target has: OrganizationKey.
	Organization fleet.Organization `json:"organization,omitempty"`
	From         int64              `json:"from,omitempty"`  // seconds since 1970; 0 means at once
	Until        int64              `json:"until,omitempty"` // seconds since 1970; 0 means no end
	Reason       string             `json:"reason"`
	By           string             `json:"by,omitempty"`
	At           int64              `json:"at,omitempty"` // time of the operator's request, ns since 1970
}

// AllKey is the key of the freeze of the whole fleet. It is not a target ID.
const AllKey = "all"

// OrganizationKey returns the key of the freeze of an organization. It is not a target ID.
func OrganizationKey(o fleet.Organization) string { return "organization/" + string(o) }

// applies reports whether the freeze is for a target.
func (f Freeze) applies(t fleet.Target) bool {
	if f.Organization != "" {
		return f.Organization.Contains(t.Organization)
	}
	return len(f.Targets) == 0 || slices.Contains(f.Targets, t.ID)
}

// rank orders freezes: of the whole fleet, of organizations, of targets.
func (f Freeze) rank() int {
	switch {
	case f.Organization != "":
		return 1
	case len(f.Targets) > 0:
		return 2
	}
	return 0
}

// text returns the reason of the freeze for the agent.
func (f Freeze) text() string {
	why := cmp.Or(f.Reason, "frozen")
	if f.By != "" {
		why = fmt.Sprintf("%s (%s)", why, f.By)
	}
	if f.Organization != "" {
		why = fmt.Sprintf("the organization %s is frozen: %s", f.Organization, why)
	}
	return why
}

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

	in           Input
	thoughts     map[fleet.TargetID]*thought
	replacements map[heldKey]replaced
}

// thought is the part of a decision that Why needs. A hub stores one for each target, so it is
// small.
type thought struct {
	name     string
	standing fleet.Standing
	labels   map[string]string
	// epoch and generation identify its previous assignment; 0 means none.
	epoch, generation uint64
	modules           []fleet.Assigned // desired
	pins              []fleet.Pin
	kept              string
	frozen            string
	grant             string
	waits             bool
	issued            uint64
}
