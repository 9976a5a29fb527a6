package document

import "fettle.dev/fettle/internal/fleet"

// Formats of documents about rollouts.
const (
	RolloutPageFormat = "fettle.fleet.rollouts/1"
	RolloutFormat     = "fettle.fleet.rollout/1"
)

// Rollout is the progress of one change through the fleet.
type Rollout struct {
	ID       string `json:"id"`
	Branch   string `json:"branch"` // that its targets follow
	Strategy string `json:"strategy"`
	Cause    string `json:"cause"`
	Phase    string `json:"phase"`         // active, paused, rolling-back, completed, …
	Why      string `json:"why,omitempty"` // the reason of the phase
	By       string `json:"by,omitempty"`  // the operator who caused it
	Created  int64  `json:"created"`       // seconds since 1970
	// Wave is the index of the current wave in Waves.
	Wave  int           `json:"wave"`
	Waves []RolloutWave `json:"waves"`
	Parts []string      `json:"parts"` // of assignments that it changes: "top" or "modules/NAME"
	// Targets is the number of targets by state. WorstCase is the largest number that can fail before the
	// rollout stops by itself.
	Targets   map[string]int `json:"targets"`
	WorstCase int            `json:"worst_case"`
	Held      bool           `json:"held"` // targets lack its content, which is not rolled out again until it is released
	// HeldContent is its content that is held, also because of a rollback of the fleet, or nil.
	HeldContent *fleet.HeldContent `json:"held_content,omitempty"`
	// Gates are the gates of all waves. Waits is the reason why gates of the current wave keep the wave open.
	Gates []RolloutGate `json:"gates,omitempty"`
	Waits string        `json:"waits,omitempty"`
}

// RolloutGate is the state of a condition for the end of a wave.
type RolloutGate struct {
	Wave   string `json:"wave"`
	Name   string `json:"name"`
	Type   string `json:"type"`              // approval, compare, metric or webhook
	DryRun bool   `json:"dry_run,omitempty"` // its verdicts have no effect
	State  string `json:"state"`             // pending, waits, passed, failed, error, none, late, ended
	// Passes of the necessary Need verdicts or approvals exist. Errors are in succession.
	Passes    int            `json:"passes"`
	Need      int            `json:"need"`
	Failures  int            `json:"failures,omitempty"`
	Errors    int            `json:"errors,omitempty"`
	Why       string         `json:"why,omitempty"` // the evidence of the last verdict
	At        int64          `json:"at,omitempty"`  // of the last verdict, seconds since 1970
	Approvals []GateApproval `json:"approvals,omitempty"`
	// Deadline is the time at which the rollout pauses if the gate has not passed, seconds since 1970; 0 means that the
	// gate does not wait.
	Deadline int64 `json:"deadline,omitempty"`
}

// GateApproval is the consent of a user.
type GateApproval struct {
	By string `json:"by"`
	At int64  `json:"at"` // seconds since 1970
}

// GateApprovalRequest is the consent of a user to the end of a wave, or a rejection.
type GateApprovalRequest struct {
	Gate   string `json:"gate,omitempty"` // "" means the only approval of the wave
	Reject bool   `json:"reject,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// VerdictRequest is the verdict of a program about the current wave.
type VerdictRequest struct {
	Gate    string `json:"gate,omitempty"` // "" means the only webhook of the wave
	Verdict string `json:"verdict"`        // pass, fail or error
	Reason  string `json:"reason,omitempty"`
}

// RolloutWave contains the counts and limits of one wave.
type RolloutWave struct {
	Name           string `json:"name"`
	Targets        int    `json:"targets"`         // that take part
	Ready          int    `json:"ready"`           // of them
	MaxUnavailable int    `json:"max_unavailable"` // number of targets that may be unavailable at the same time
	Bake           int64  `json:"bake"`            // seconds
}

// RolloutPage has all stored rollouts, the newest first.
type RolloutPage struct {
	Format   string    `json:"format"`
	Rollouts []Rollout `json:"rollouts"`
}

// RolloutDetail is a rollout with its targets, sorted by wave and name.
type RolloutDetail struct {
	Format  string          `json:"format"`
	Rollout Rollout         `json:"rollout"`
	Targets []RolloutTarget `json:"targets"`
	// Course is the numbers of targets over time; nil means that they are not known.
	Course *RolloutCourse `json:"course,omitempty"`
}

// RolloutTarget contains the wave and the state of one target.
type RolloutTarget struct {
	ID      fleet.TargetID `json:"id"`
	Name    string         `json:"name,omitempty"` // "" if the target left the registry
	Wave    string         `json:"wave"`
	State   string         `json:"state"`         // pending, granted, ready, failed, silent, skipped, returned, left
	Granted int64          `json:"granted"`       // time of the last grant, seconds since 1970; 0 is never
	Why     string         `json:"why,omitempty"` // the reason of the state
}

// RolloutRequest is a command of an operator for a rollout.
type RolloutRequest struct {
	// Action is pause, resume, abort, rollback, promote, skip, retry or release.
	Action string `json:"action"`
	Target string `json:"target,omitempty"` // for skip and retry: name or ID
	Reason string `json:"reason,omitempty"`
}
