package rollout

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// Action is the kind of a command for a rollout.
type Action string

// The actions.
const (
	ToPause    Action = "pause"    // no further grants
	ToResume   Action = "resume"   // also after a breach: the failures so far then count as accepted
	ToAbort    Action = "abort"    // ends it, also a rollback; members keep their present content
	ToRollback Action = "rollback" // granted members return to their previous content
	ToPromote  Action = "promote"  // ends the bake time of the current wave, but no condition
	ToSkip     Action = "skip"     // excludes a member
	ToRetry    Action = "retry"    // grants a failed, silent or skipped member again
	ToRelease  Action = "release"  // permits content that is held since the rollout ended
)

// ErrNoRollout means that there is no rollout with the ID.
var ErrNoRollout = errors.New("there is no such rollout")

// CommandError means that a command has no meaning in the present state of its rollout.
type CommandError struct {
	Command
	Err error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("cannot %s the rollout %s: %v", e.Action, e.Rollout, e.Err)
}

// Command is an order of an operator. Target is for ToSkip and ToRetry.
type Command struct {
	Action  Action
	Rollout string
	Target  ID
	By, Why string
	// Groups are the groups of the user, which decide whether an approval gate accepts the command.
	Groups []string
	// Gate and Verdict are for commands about gates. A hub that obtained the verdict itself sets Period.
	Gate    string
	Verdict Verdict
	Period  int
	// Organization is the one for which ToApprove approves the rollout, or ToReject rejects it; "" means a gate.
	Organization fleet.Organization
}

// only returns an event if the rollout is in one of the phases.
func only(r *Rollout, e Event, phases ...Phase) (Event, error) {
	for _, p := range phases {
		if r.Phase == p {
			return e, nil
		}
	}
	return Event{}, fmt.Errorf("it is %s", r.Phase)
}
