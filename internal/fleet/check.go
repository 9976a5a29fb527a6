package fleet

// CheckOutcome is the result of a check of a scope on one target.
type CheckOutcome string

// Outcomes of a check. The zero value is unknown.
const (
	CheckPending CheckOutcome = "pending" // never succeeded, and FailAfter has not passed
	CheckOK      CheckOutcome = "ok"
	CheckFailed  CheckOutcome = "failed"
)

// Limits of the checks that one target tests.
const (
	MaxChecks    = 64
	MaxCheckText = 512 // bytes of the text of a result
)

// CheckResult is the newest result of a check of a scope on one target.
type CheckResult struct {
	Scope   string       `json:"scope"`  // KIND/NAME
	Check   string       `json:"check"`  // name in the scope
	Digest  string       `json:"digest"` // of the condition
	Outcome CheckOutcome `json:"outcome"`
	Since   int64        `json:"since"`          // ns since 1970, the agent's clock: when the outcome changed
	Text    string       `json:"text,omitempty"` // the reason of a failure, for display
}
