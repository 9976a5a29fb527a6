package document

import (
	"encoding/json"

	"fettle.dev/fettle/internal/fleet"
)

// RolloutPlanFormat is the format of a RolloutPlan.
const RolloutPlanFormat = "fettle.fleet.rolloutplan/1"

// RolloutPlanRequest is a commit that the fleet does not follow yet, or changed files without a commit.
type RolloutPlanRequest struct {
	Commit  string `json:"commit,omitempty"` // "" means files without a commit
	Subject string `json:"subject,omitempty"`
	Time    int64  `json:"time,omitempty"` // of the commit, seconds since 1970
	// Compiled is the compiled repository, in a form that only fettle of the same version writes.
	Compiled json.RawMessage `json:"compiled"`
}

// RolloutPlan describes what a hub would do if its branch were at a commit now. The hub does nothing.
type RolloutPlan struct {
	Format string `json:"format"`
	Branch string `json:"branch"`
	Head   string `json:"head"`             // the present commit of the branch
	Commit string `json:"commit,omitempty"` // the planned one; "" means files without a commit
	// Rollouts would begin, and AtOnce lists changes that would not wait for a rollout.
	Rollouts []PlannedRollout `json:"rollouts"`
	AtOnce   []PlannedTargets `json:"at_once"`
	// Waiting lists targets that would not get a change now, with the reason.
	Waiting []PlannedTargets `json:"waiting"`
	// StrategyChanges are the strategies that targets would use after they have this content.
	StrategyChanges []PlannedStrategyChange `json:"strategy_changes,omitempty"`
	// Needs are the dependencies of the changed modules.
	Needs []PlannedNeed `json:"needs"`
}

// PlannedRollout is a rollout that would begin.
type PlannedRollout struct {
	Strategy  string        `json:"strategy"`
	Cause     string        `json:"cause"`
	Parts     []string      `json:"parts"` // of assignments that it changes: "top" or "modules/NAME"
	Waves     []PlannedWave `json:"waves"`
	WorstCase int           `json:"worst_case"` // the largest number of targets that can fail before it stops by itself
	OnBreach  string        `json:"on_breach"`  // pause, abort or rollback
	// Waits means that none of the targets can be changed now: the rollout begins when one can.
	Waits bool `json:"waits"`
	// Supersedes are the open rollouts that lose targets to this one.
	Supersedes []PlannedSuperseded `json:"supersedes"`
}

// PlannedWave is a wave of a planned rollout.
type PlannedWave struct {
	Name           string   `json:"name"`
	Targets        []string `json:"targets"` // names, sorted
	MaxUnavailable int      `json:"max_unavailable"`
	Bake           int64    `json:"bake"` // seconds
	// Gates are the conditions for the end of the wave.
	Gates []PlannedGate `json:"gates,omitempty"`
}

// PlannedGate is a gate of a planned wave.
type PlannedGate struct {
	Name    string `json:"name"`
	Type    string `json:"type"`              // approval, compare, metric or webhook
	Need    int    `json:"need,omitempty"`    // number of users who must approve
	DryRun  bool   `json:"dry_run,omitempty"` // its verdicts have no effect
	Void    bool   `json:"void,omitempty"`    // a comparison without targets: it has no effect
	Timeout int64  `json:"timeout"`           // seconds until the rollout pauses
}

// PlannedSuperseded is an open rollout that loses targets to a planned one.
type PlannedSuperseded struct {
	Rollout string `json:"rollout"`
	Targets int    `json:"targets"` // that it loses
	Ends    bool   `json:"ends"`    // it has no other targets
}

// PlannedTargets are targets to which the same reason applies.
type PlannedTargets struct {
	Reason  string   `json:"reason"`
	Parts   []string `json:"parts,omitempty"`
	Targets []string `json:"targets"` // names, sorted
}

// PlannedStrategyChange is another strategy for targets. Until they have the planned content, and no open rollout has
// them as members, their present strategy counts.
type PlannedStrategyChange struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Targets []string `json:"targets"` // names, sorted
}

// PlannedNeed is a dependency between two modules of a target.
type PlannedNeed struct {
	Module string      `json:"module"`
	Needs  string      `json:"needs"`
	Level  fleet.Level `json:"level"`
}
