package catalog

// Policy is how runs of a target behave, as the repository wants it. Each field
// is "" where the repository says nothing; the command line overrules it.
type Policy struct {
	OnFailure      string `json:"on_failure,omitempty"`       // stop or undo
	OnCrash        string `json:"on_crash,omitempty"`         // undo or finish
	OnCheckFailure string `json:"on_check_failure,omitempty"` // keep or rollback
	Drift          string `json:"drift,omitempty"`            // repair or report
	// RequireUndo refuses commands that have no undo.
	RequireUndo bool `json:"require_undo,omitempty"`
}
