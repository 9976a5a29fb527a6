package rollout

import "slices"

// GateType is the kind of a gate.
type GateType string

// The kinds of gates.
const (
	ApprovalGate GateType = "approval" // users approve
	MetricGate   GateType = "metric"   // the hub queries a value
	WebhookGate  GateType = "webhook"  // another program decides
	CompareGate  GateType = "compare"  // the hub compares targets with the change and targets without it
)

// Gate is a condition for the end of a wave. All times are in seconds.
type Gate struct {
	Name   string   `json:"name"`
	Type   GateType `json:"type"`
	DryRun bool     `json:"dry_run,omitempty"` // its verdicts are recorded, but have no effect
	// Timeout is the time after which the rollout pauses if the gate has not passed; 0: see Rollout.Deadline.
	Timeout int64 `json:"timeout,omitempty"`

	// Need is the number of users who must approve. Users and members of Groups may approve, or all with the right if
	// both are empty. With NotAuthor, the author of the change does not count. An approval counts for Expires.
	Need      int      `json:"need,omitempty"`
	Users     []string `json:"users,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	NotAuthor bool     `json:"not_author,omitempty"`
	Expires   int64    `json:"expires,omitempty"`

	// The hub queries URL. If it is empty, another program reports the verdict. Query, Min and Max are for a metric.
	// Secret is the name of the secret that signs requests, and Token the name of a token for queries.
	URL    string   `json:"url,omitempty"`
	Query  string   `json:"query,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Secret string   `json:"secret,omitempty"`
	Token  string   `json:"token,omitempty"`
	// A comparison uses the samples of Query whose Label names a target, at least MinSample of each side. Values with the
	// change may be worse by the factor MaxRatio and by Margin. Larger values are worse, or smaller ones with Lower.
	Label     string  `json:"label,omitempty"`
	Lower     bool    `json:"lower,omitempty"`
	MinSample int     `json:"min_sample,omitempty"`
	MaxRatio  float64 `json:"max_ratio,omitempty"`
	Margin    float64 `json:"margin,omitempty"`
	// Count verdicts must be pass. The first one is obtained after InitialDelay, the next ones each Interval, until the
	// wave ends. More than FailureLimit failures, or more than ErrorLimit errors in succession, have an effect.
	InitialDelay int64 `json:"initial_delay,omitempty"`
	Interval     int64 `json:"interval,omitempty"`
	Count        int   `json:"count,omitempty"`
	FailureLimit int   `json:"failure_limit,omitempty"`
	ErrorLimit   int   `json:"error_limit,omitempty"`
}

// approvers returns the names of the users and groups that may approve.
func (g Gate) approvers() []string {
	out := slices.Clone(g.Users)
	for _, group := range g.Groups {
		out = append(out, "members of "+group)
	}
	if len(out) == 0 {
		return []string{"users of the hub"}
	}
	return out
}

// Verdict is a result of a gate.
type Verdict string

// The verdicts. Only the rollout acts on them.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unclear Verdict = "error"   // it has no result, for example because a program cannot be reached
	Later   Verdict = "pending" // another program will report the verdict
	None    Verdict = "none"    // the values do not suffice yet
)

// known reports whether there is a verdict. Only the hub may return Later and None.
func (v Verdict) known(hub bool) bool {
	return v == Pass || v == Fail || v == Unclear || hub && (v == Later || v == None)
}

// Approval is the consent of a user.
type Approval struct {
	By string `json:"by"`
	At int64  `json:"at"` // seconds since 1970
}

// GateState contains the verdicts of a gate in the present bake time of its wave.
type GateState struct {
	Passes    int        `json:"passes,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	Errors    int        `json:"errors,omitempty"` // in succession
	Last      Verdict    `json:"last,omitempty"`
	At        int64      `json:"at,omitempty"` // of the last verdict, seconds since 1970
	Why       string     `json:"why,omitempty"`
	Rejected  string     `json:"rejected,omitempty"` // the user who rejected the change
	Approvals []Approval `json:"approvals,omitempty"`
	Lapsed    int64      `json:"lapsed,omitempty"` // of the last change from pass to no pass, seconds since 1970
	Late      bool       `json:"late,omitempty"`   // the rollout paused because it had not passed in time
}

// Passed reports whether a gate permits the end of its wave. need is the result of Rollout.Need.
func (g Gate) Passed(s GateState, need int) bool {
	if g.Type == ApprovalGate {
		return s.Rejected == "" && len(s.Approvals) >= need
	}
	return !g.Failed(s) && s.Passes >= g.Count && s.Last == Pass
}

// Failed reports whether the verdicts of a gate are a breach.
func (g Gate) Failed(s GateState) bool { return s.Rejected != "" || s.Failures > g.FailureLimit }

// unclear reports whether a gate lacks a result for too long.
func (g Gate) unclear(s GateState) bool { return s.Errors > g.ErrorLimit }
