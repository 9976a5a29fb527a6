package assign

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Exemption lets targets change outside of their windows, in an emergency. It begins when enough users have approved
// it, and ends by itself. Assignments that targets get meanwhile have no windows, so agents apply them at once.
// It has no effect on freezes, gates and the limits of rollouts.
type Exemption struct {
	ID      string           `json:"id"`
	Targets []fleet.TargetID `json:"targets,omitempty"` // none: all targets, also targets that enrol later
	Select  []string         `json:"select,omitempty"`  // the selection of Targets, for users
	By      string           `json:"by"`
	Reason  string           `json:"reason"`
	At      int64            `json:"at"`      // the time of the request, in seconds since 1970
	Seconds int64            `json:"seconds"` // how long it is in force
	// Approvals are by different users, in the order of their times. The last one can be the begin.
	Approvals []Consent `json:"approvals,omitempty"`
}

// Consent is the approval of a user.
type Consent struct {
	By string `json:"by"`
	At int64  `json:"at"` // seconds since 1970
}

const (
	// ExemptionApprovals is the number of users who must approve an exemption. The user who requested it can be one
	// of them.
	ExemptionApprovals = 2
	// ExemptionWait is the time in seconds after which a request without enough approvals has no effect any more.
	ExemptionWait = 24 * 3600
	// MaxExemption is the longest exemption in seconds.
	MaxExemption = 24 * 3600
)

// ExemptionState is the state of an exemption at a time.
type ExemptionState string

// The states of exemptions.
const (
	ExemptionWaits   ExemptionState = "waiting"
	ExemptionInForce ExemptionState = "in force"
	ExemptionEnded   ExemptionState = "ended" // also without enough approvals
)

// State returns the state at a time, and the time at which it ends.
func (e Exemption) State(now int64) (state ExemptionState, until int64) {
	if len(e.Approvals) < ExemptionApprovals {
		if until = e.At + ExemptionWait; now < until {
			return ExemptionWaits, until
		}
		return ExemptionEnded, until
	}
	if until = e.Approvals[ExemptionApprovals-1].At + e.Seconds; now < until {
		return ExemptionInForce, until
	}
	return ExemptionEnded, until
}

// ApprovedBy adds the approval of a user. ok is false if the user has approved before.
func (e Exemption) ApprovedBy(user string, now int64) (out Exemption, ok bool) {
	if slices.ContainsFunc(e.Approvals, func(c Consent) bool { return c.By == user }) {
		return e, false
	}
	e.Approvals = append(slices.Clone(e.Approvals), Consent{user, now})
	return e, true
}

// Scope describes the targets for users.
func (e Exemption) Scope() string {
	if len(e.Targets) == 0 {
		return "all targets"
	}
	return "-t " + strings.Join(e.Select, " -t ")
}

// Exempts reports whether the exemption is in force for a target.
func (e Exemption) Exempts(id fleet.TargetID, now int64) bool {
	state, _ := e.State(now)
	return state == ExemptionInForce && (len(e.Targets) == 0 || slices.Contains(e.Targets, id))
}

// exemptions are the exemptions in force.
type exemptions struct {
	all     bool
	targets map[fleet.TargetID]bool
}

func (e exemptions) has(id fleet.TargetID) bool { return e.all || e.targets[id] }

// readExemptions finds the exemptions in force, and adds alarms about them and about requests that wait. It calls at
// with the times at which they end.
func readExemptions(all []Exemption, now int64, alarms *alarms, at func(moment int64)) exemptions {
	out := exemptions{targets: map[fleet.TargetID]bool{}}
	for _, e := range all {
		state, until := e.State(now)
		at(until)
		switch state {
		case ExemptionWaits:
			alarms.addWith(Alarm{Kind: ExemptionRequested, Text: fmt.Sprintf(
				"%[1]s requests that %[2]s may change outside of their windows (%[3]s). %[4]d users must approve "+
					"it: fettle exemption approve %[5]s",
				e.By, e.Scope(), e.Reason, ExemptionApprovals, e.ID)}, "")
		case ExemptionInForce:
			out.all = out.all || len(e.Targets) == 0
			for _, id := range e.Targets {
				out.targets[id] = true
			}
			alarms.addWith(Alarm{Kind: WindowsIgnored, Text: fmt.Sprintf(
				"The exemption %[1]s of %[2]s lets %[3]s change outside of their windows (%[4]s). "+
					"To end it: fettle exemption end %[1]s",
				e.ID, e.By, e.Scope(), e.Reason)}, "")
		}
	}
	return out
}
