package scopes

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
)

// Alarms returns an alarm for each scope that failed, and for each task or undo that failed or waits for a user.
func Alarms(from *records.Table) (out []assign.Alarm) {
	for _, f := range from.Scopes.Values() {
		s := f.State
		if s.Undeclared || s.Verdict.Verdict != scope.Failed {
			continue
		}
		text := fmt.Sprintf("The scope %s is failed", s.Scope.ID())
		if len(s.Verdict.Reasons) > 0 {
			text += ": " + s.Verdict.Reasons[0].Text
		}
		out = append(out, assign.Alarm{Kind: assign.ScopeFailed, Count: 1,
			Text: text + ". See: fettle scope show " + s.Scope.ID()})
	}
	for _, f := range from.Tasks.Values() {
		t := f.State
		i, what := t.Instance(), "task"
		if t.Undoing {
			what = "undo of the task"
		}
		switch {
		case t.Undeclared && !t.Unfinished() || t.Open != nil:
		case i.Phase == task.Failed:
			out = append(out, assign.Alarm{Kind: assign.TaskFailed, Count: 1, Text: fmt.Sprintf(
				"The %[4]s %[2]s of %[1]s failed: %[3]s. Then run: fettle task retry %[1]s %[2]s --reason WHY", t.Scope, t.Task,
				i.Text, what)})
		case i.Phase == task.Unknown && i.Ask:
			out = append(out, assign.Alarm{Kind: assign.TaskUndecided, Count: 1, Text: fmt.Sprintf(
				"The result of the %[4]s %[2]s of %[1]s is unknown: %[3]s. Find out whether it is done, then run: "+
					"fettle task resolve %[1]s %[2]s --done --reason WHY, or with --failed", t.Scope, t.Task, i.Text, what)})
		}
	}
	return out
}
