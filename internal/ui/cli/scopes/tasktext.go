package scopes

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

func showTasks(s *cli.Printer, p document.TaskPage) {
	if len(p.Tasks) == 0 {
		s.Printf("The repository declares no tasks of scopes. See docs/scopes.md\n")
		return
	}
	showTaskList(s, p.Tasks)
}

func showTaskList(s *cli.Printer, all []document.ScopeTask) {
	var rows [][]string
	var decide []string
	for _, t := range all {
		target, fence := "", ""
		if a := t.Open; a != nil {
			target, fence = a.Executor(), fmt.Sprint(a.Fence)
		} else if n := len(t.Attempts); n > 0 {
			target, fence = t.Attempts[n-1].Executor(), fmt.Sprint(t.Attempts[n-1].Fence)
		}
		rows = append(rows, []string{t.Scope, t.Task, t.State(), since(s, t.Since), target, fence, taskText(s, t)})
		if t.Decide {
			done := "done"
			if t.Undo {
				done = "undone"
			}
			decide = append(decide, fmt.Sprintf("%s of %s: find out whether it is %s, then run: "+
				"fettle task resolve %s %s --done --reason WHY, or with --failed\n", t.Task, t.Scope, done, t.Scope, t.Task))
		}
	}
	s.Style().Table(s.App.Stdout, []string{"SCOPE", "TASK", "STATE", "SINCE", "TARGET", "FENCE", "REASON"}, rows)
	for _, text := range decide {
		s.Printf("%s", text)
	}
}

// taskText returns why a task has its state.
func taskText(s *cli.Printer, t document.ScopeTask) string {
	if t.Next > 0 && (!t.Undeclared || t.Undo) {
		return cli.JoinWords(t.Why(), "next attempt at", s.Moment(t.Next))
	}
	return t.Why()
}

func since(s *cli.Printer, ns int64) string {
	if ns == 0 {
		return ""
	}
	return s.Moment(ns)
}
