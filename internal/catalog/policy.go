package catalog

import (
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
)

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
	// CreateGuests allows states of the kind guest.
	CreateGuests bool `json:"create_guests,omitempty"`
	// Repository is the name by which hosts identify the repository, independent of its
	// clone URL.
	Repository string `json:"repository,omitempty"`
}

// StoredCheckFailure returns the stored form of a value of on_check_failure. Stored policies and the
// protocol have the older word rollback for undo.
func StoredCheckFailure(value string) string {
	if value == "undo" {
		return "rollback"
	}
	return value
}

// The shortest and longest time that a run may wait for its confirmation.
const (
	MinConfirm = time.Second
	MaxConfirm = 24 * time.Hour
)

// ConfirmTime parses a ConfirmWithin; ok is false if text is not a duration from
// MinConfirm to MaxConfirm.
func ConfirmTime(text string) (d time.Duration, ok bool) {
	d, err := duration.Parse(text)
	return d, err == nil && d >= MinConfirm && d <= MaxConfirm
}

// IsRepositoryName tells whether a text can be the name of a repository.
func IsRepositoryName(name string) bool {
	other := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-/", c))
	}
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, other)
}
