package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// GateType is the kind of a gate.
type GateType string

// The kinds of gates.
const (
	ApprovalGate GateType = "approval" // users approve
	MetricGate   GateType = "metric"   // the hub queries a value
	WebhookGate  GateType = "webhook"  // another program decides
)

// Gate is a condition for the end of a wave. All times are in seconds.
type Gate struct {
	Name   string   `json:"name"`
	Type   GateType `json:"type"`
	DryRun bool     `json:"dry_run,omitempty"` // its verdicts are recorded, but have no effect

	// Need is the number of users who must approve. Users may approve, or all with the right if it is empty. With
	// NotAuthor, the author of the change does not count. An approval counts for Expires.
	Need      int      `json:"need,omitempty"`
	Users     []string `json:"users,omitempty"`
	NotAuthor bool     `json:"not_author,omitempty"`
	Expires   int64    `json:"expires,omitempty"`

	// The hub queries URL. If it is empty, another program reports the verdict. Query, Min and Max are for a metric.
	// Secret is the name of the secret that signs requests.
	URL    string   `json:"url,omitempty"`
	Query  string   `json:"query,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Secret string   `json:"secret,omitempty"`
	// Count verdicts must be pass. The first one is obtained after InitialDelay, the next ones each Interval, until the
	// wave ends. More than FailureLimit failures, or more than ErrorLimit errors in succession, have an effect.
	InitialDelay int64 `json:"initial_delay,omitempty"`
	Interval     int64 `json:"interval,omitempty"`
	Count        int   `json:"count,omitempty"`
	FailureLimit int   `json:"failure_limit,omitempty"`
	ErrorLimit   int   `json:"error_limit,omitempty"`
}

// Verdict is a result of a gate.
type Verdict string

// The verdicts. Only the rollout acts on them.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unclear Verdict = "error"   // it has no result, for example because a program cannot be reached
	Later   Verdict = "pending" // another program will report the verdict
)

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
}

// fold applies an event of the gate.
func (s *GateState) fold(e Event) {
	switch e.Kind {
	case Approved:
		s.Approvals = append(s.without(e.By), Approval{e.By, e.At})
	case Expired:
		s.Approvals = s.without(e.By)
	case Rejected:
		s.Rejected, s.Why = e.By, e.Why
	case Measured:
		s.Last, s.At, s.Why = e.Verdict, e.At, e.Why
		switch e.Verdict {
		case Pass:
			s.Passes, s.Errors = s.Passes+1, 0
		case Fail:
			s.Failures, s.Errors = s.Failures+1, 0
		case Unclear:
			s.Errors++
		}
	}
}

// without returns the approvals of other users.
func (s *GateState) without(by string) (out []Approval) {
	for _, a := range s.Approvals {
		if a.By != by {
			out = append(out, a)
		}
	}
	return out
}

// Gates returns the gates of a wave.
func (r *Rollout) Gates(wave int) []Gate {
	if wave >= len(r.Plan.Waves) {
		return nil
	}
	return r.Plan.Waves[wave].Gates
}

// gate returns a gate of the current wave.
func (r *Rollout) gate(name string) (g Gate, ok bool) {
	all := r.Gates(r.Wave)
	i := slices.IndexFunc(all, func(g Gate) bool { return g.Name == name })
	if i < 0 {
		return g, false
	}
	return all[i], true
}

// GateState returns the state of a gate of a wave.
func (r *Rollout) GateState(wave int, gate string) GateState {
	if s := r.Verdicts[wave][gate]; s != nil {
		return *s
	}
	return GateState{}
}

// Need returns the number of users who must approve a gate. One user more must approve if the author must not count
// and is not known: at most one of them is the author.
func (r *Rollout) Need(g Gate) int {
	if g.NotAuthor && r.Plan.Author == "" {
		return g.Need + 1
	}
	return g.Need
}

// Passed reports whether a gate permits the end of its wave. need is the result of Rollout.Need.
func (g Gate) Passed(s GateState, need int) bool {
	if g.Type == ApprovalGate {
		return s.Rejected == "" && len(s.Approvals) >= need
	}
	return !g.Failed(s) && !g.unclear(s) && s.Passes >= g.Count && s.Last == Pass
}

// Failed reports whether the verdicts of a gate are a breach.
func (g Gate) Failed(s GateState) bool { return s.Rejected != "" || s.Failures > g.FailureLimit }

// unclear reports whether a gate lacks a result for too long.
func (g Gate) unclear(s GateState) bool { return s.Errors > g.ErrorLimit }

// Waits returns what the gates of the current wave wait for, or "".
func (r *Rollout) Waits() string {
	var out []string
	for _, g := range r.Gates(r.Wave) {
		open := r.Settled > 0 && !r.Phase.Final() && r.Phase != RollingBack
		if open && !g.DryRun && !g.Passed(r.GateState(r.Wave, g.Name), r.Need(g)) {
			out = append(out, r.waitsFor(g))
		}
	}
	return strings.Join(out, ", and ")
}

func (r *Rollout) waitsFor(g Gate) string {
	s := r.GateState(r.Wave, g.Name)
	last := ""
	if s.Why != "" {
		last = ": " + s.Why
	}
	switch {
	case g.Type == ApprovalGate:
		need := r.Need(g)
		return fmt.Sprintf("waits for the approval of %d of %d users (%s)", need-len(s.Approvals), need, g.Name)
	case g.Type == MetricGate:
		return fmt.Sprintf("waits for %d of %d good values of the metric %s%s", max(0, g.Count-s.Passes), g.Count,
			g.Name, last)
	}
	return fmt.Sprintf("waits for the verdict of %s%s", g.Name, last)
}

// Unapproved returns the names of the gates of the current wave that wait for users.
func (r *Rollout) Unapproved() (out []string) {
	for _, g := range r.Gates(r.Wave) {
		if g.Type == ApprovalGate && !g.DryRun && r.Settled > 0 && !g.Passed(r.GateState(r.Wave, g.Name), r.Need(g)) {
			out = append(out, g.Name)
		}
	}
	return out
}
