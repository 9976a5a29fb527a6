package catalog

import "time"

// Policy is how runs of a target behave, as the repository wants it. Each field
// is "" where the repository says nothing; the command line overrules it.
type Policy struct {
	OnFailure      string `json:"on_failure,omitempty"`       // stop or undo
	OnCrash        string `json:"on_crash,omitempty"`         // undo or finish
	OnCheckFailure string `json:"on_check_failure,omitempty"` // keep or rollback
	Drift          string `json:"drift,omitempty"`            // repair or report
	LockOut        string `json:"lockout,omitempty"`          // confirm, checks or ignore
	// ConfirmWithin is how long a run that may lock an operator out waits for its
	// confirmation, as Go writes a duration.
	ConfirmWithin string `json:"confirm_within,omitempty"`
	// RequireUndo refuses commands that have no undo.
	RequireUndo bool `json:"require_undo,omitempty"`
}

// The shortest and longest time that a run may wait for its confirmation.
const (
	MinConfirm = time.Second
	MaxConfirm = 24 * time.Hour
)

// ConfirmTime reads a ConfirmWithin; ok is false for what is no time from
// MinConfirm to MaxConfirm.
func ConfirmTime(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= MinConfirm && d <= MaxConfirm
}
