package scopes

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/task"
)

// record records the changes of a task in the log of the fleet.
func (s *Scopes) record(ctx context.Context, st task.State, a task.Answer, cause task.Event) {
	for _, c := range a.Changes {
		text, failed := describe(c)
		if c.Attempt == nil && st.Undoing && c.Kind != task.UndoDue && c.Kind != task.Removed ||
			c.Attempt != nil && c.Attempt.Undo {
			text = "undo: " + text
		}
		e := fleet.HubEvent{Kind: fleet.TaskChanged, By: cause.By,
			Text: fmt.Sprintf("task %s of %s: %s", st.Task, st.Scope, text)}
		if c.Attempt != nil {
			e.Target = fleet.TargetID(c.Attempt.Target)
		}
		if failed {
			e.Error = e.Text
		}
		s.Events.Note(context.WithoutCancel(ctx), e)
	}
}

// describe returns the text of a change. failed means that an operator must act.
func describe(c task.Change) (text string, failed bool) {
	on := ""
	if c.Attempt != nil {
		on = fmt.Sprintf(" on %s, fence %d", c.Attempt.Name, c.Attempt.Fence)
	}
	why := ""
	if c.Text != "" {
		why = ": " + c.Text
	}
	switch c.Kind {
	case task.Defined:
		if c.Text != "" {
			return "declared again with content that is " + c.Text, false
		}
		return "declared", false
	case task.Removed:
		return "no longer declared", false
	case task.Begun:
		if c.Attempt.VerifyOnly {
			return "a verification begins" + on, false
		}
		return "an attempt begins" + on, false
	case task.Held:
		return "it waits" + why, false
	case task.Accepted:
		return "the " + c.Attempt.Executor() + " accepted the attempt" + on, false
	case task.Succeeded:
		return "done" + on + why, false
	case task.Fails:
		return "failed" + on + why, true
	case task.FailsOnce:
		return "failed and will be retried" + on + why, false
	case task.Refused:
		return "the " + c.Attempt.Executor() + " did not begin" + on + why, false
	case task.IsUnknown:
		return "the result is unknown" + on + why, false
	case task.Asks:
		return "a user must decide whether it is done" + why, true
	case task.Retried:
		return "a user orders another attempt" + why, false
	case task.Resolved:
		return "a user sets the result" + why, false
	case task.UndoDue:
		return "it will be undone", false
	case task.Kept:
		return "declared again before its undo began", false
	case task.Late:
		return "a late result, " + string(c.Attempt.Outcome) + on + why, false
	}
	return string(c.Kind), false
}
