package document

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// MembersText returns the number of members of a scope, for operators.
func (x Scope) MembersText() string {
	if x.ByHubs() {
		return ""
	}
	switch len(x.Scopes) {
	case 0:
	case 1:
		return "1 scope"
	default:
		return fmt.Sprintf("%d scopes", len(x.Scopes))
	}
	return fmt.Sprintf("%d of %d", x.Connected, x.Members)
}

// ByHubs reports whether hubs do the tasks of the scope.
func (x Scope) ByHubs() bool { return x.Executor == "hub" }

// ByHub reports whether the leading hub tests the check.
func (c ScopeCheck) ByHub() bool { return len(c.Testers) == 1 && c.Testers[0].Hub }

func (a TaskAttempt) executorKind() string {
	if a.Hub {
		return "hub"
	}
	return "target"
}

// Executor returns the target or the hub of an attempt, for operators.
func (a TaskAttempt) Executor() string {
	if a.Hub {
		return "hub " + a.Name
	}
	return a.Name
}

// FirstReason returns the worst one of several reasons with its targets, and the number of the other ones.
func FirstReason(all []ScopeReason) string {
	if len(all) == 0 {
		return ""
	}
	text := all[0].Describe()
	if n := len(all) - 1; n > 0 {
		text += fmt.Sprintf("; %d more", n)
	}
	return text
}

// Describe returns a reason with its targets.
func (r ScopeReason) Describe() string {
	if len(r.Targets) == 0 {
		return r.Text
	}
	return r.Text + ": " + strings.Join(r.Targets, ", ")
}

// Describe returns the state of a member, for operators.
func (s ScopeMemberState) Describe() string {
	switch s {
	case ScopeConnected, ScopeOffline:
		return string(s)
	case ScopeNotEnrolled:
		return "not enrolled, does not count"
	case ScopeSuspect:
		return "suspect clone, does not count"
	}
	return string(s) + ", does not count"
}

// State returns the phase of a task or its undo, for operators.
func (t ScopeTask) State() string {
	if t.Undo {
		return "undo " + string(t.Phase)
	}
	return string(t.Phase)
}

// Why returns why a task has its state, or "". The time of its next attempt is in Next.
func (t ScopeTask) Why() string {
	switch {
	case t.Undeclared && !t.Undo && !t.Decide && t.Open == nil:
		return "no longer declared"
	case t.Next > 0:
		return t.Text
	case t.Waits != "":
		return "waits: " + t.Waits
	case t.Open != nil && t.Open.VerifyOnly:
		return "the " + t.Open.executorKind() + " tests whether it is done"
	case t.By != "":
		return t.By + ": " + t.Text
	case t.Phase == TaskDone && len(t.Attempts) > 0:
		if t.Attempts[len(t.Attempts)-1].Outcome == fleet.TaskVerified {
			return "the condition already held"
		}
	}
	return t.Text
}
