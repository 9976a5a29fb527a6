package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// CheckOutcome is the result of a check of a scope on one target.
type CheckOutcome string

// Outcomes of a check. The zero value is unknown.
const (
	CheckPending CheckOutcome = "pending" // never succeeded, and FailAfter has not passed
	CheckOK      CheckOutcome = "ok"
	CheckFailed  CheckOutcome = "failed"
	CheckUnknown CheckOutcome = "unknown" // of hubs, and for display: agents do not report it
)

// Limits of the checks that one target tests.
const (
	MaxChecks    = 64
	MaxCheckText = 512 // bytes of the text of a result
	maxCheckName = 256 // bytes of a scope, a check and a digest
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

// ValidChecks returns the results that a report may contain, sorted by scope and check, within the limits. It skips
// results without a name, duplicates, and results with an unknown outcome, which a newer agent or a compromised host
// can send: their outcome is unknown.
func ValidChecks(reported []CheckResult) []CheckResult {
	out := make([]CheckResult, 0, min(len(reported), MaxChecks))
	for _, r := range reported {
		named := r.Scope != "" && r.Check != "" && r.Digest != "" &&
			max(len(r.Scope), len(r.Check), len(r.Digest)) <= maxCheckName
		known := r.Outcome == CheckPending || r.Outcome == CheckOK || r.Outcome == CheckFailed
		if named && known && len(out) < MaxChecks {
			r.Text = CheckText(r.Text)
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b CheckResult) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Check, b.Check))
	})
	return slices.CompactFunc(out, func(a, b CheckResult) bool { return a.Scope == b.Scope && a.Check == b.Check })
}

// CheckText limits a text to MaxCheckText bytes of valid UTF-8.
func CheckText(text string) string {
	const end = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxCheckText {
		return text
	}
	return strings.ToValidUTF8(text[:MaxCheckText-len(end)], "") + end
}
