package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// scopeAt returns the values of the address of a page about a scope.
func scopeAt(v *visit) route.ScopeID {
	return route.ScopeID{Kind: v.PathValue("kind"), Scope: v.PathValue("scope")}
}

// taskData is a task for display.
type taskData struct {
	document.ScopeTask
	Attempts []document.TaskAttempt // the newest first, also an open one
	Retry    bool                   // the user may order another attempt
	Resolve  bool                   // the user may set the result
}

func newTask(t document.ScopeTask, operate bool) taskData {
	d := taskData{ScopeTask: t, Attempts: slices.Clone(t.Attempts)}
	slices.Reverse(d.Attempts)
	if t.Open != nil {
		d.Attempts = slices.Insert(d.Attempts, 0, *t.Open)
	}
	switch {
	case !operate || t.Open != nil:
	case t.Undo:
		d.Resolve = t.Phase != document.TaskDone
		d.Retry = t.Phase == document.TaskFailed || t.Phase == document.TaskUnknown || t.Next > 0
	case t.Undeclared:
		d.Resolve = t.Decide
	default:
		d.Resolve = t.Phase == document.TaskFailed || t.Phase == document.TaskUnknown
		d.Retry = d.Resolve || t.Phase == document.TaskDone || t.Next > 0
	}
	return d
}

// Seen identifies the state of the task that the user sees: its phase, and its newest attempt.
func (d taskData) Seen() string {
	fence := uint64(0)
	if len(d.Attempts) > 0 {
		fence = d.Attempts[0].Fence
	}
	return fmt.Sprintf("%s %d %d %.16s", d.Phase, d.Since, fence, d.Digest)
}

// Target returns the name of the target of the newest attempt, or "".
func (d taskData) Target() string {
	if len(d.Attempts) == 0 || d.Attempts[0].Hub {
		return ""
	}
	return d.Attempts[0].Name
}

// Hub returns the hub of the newest attempt, or "".
func (d taskData) Hub() string {
	if len(d.Attempts) == 0 || !d.Attempts[0].Hub {
		return ""
	}
	return d.Attempts[0].Executor()
}

// maxShownTasks is the number of tasks of all scopes on a page.
const maxShownTasks = 200

// tasksData is the data of the page of all tasks.
type tasksData struct {
	Tasks []taskData
	More  int
}

// tasksPage lists the tasks of all scopes: first the undecided tasks.
func tasksPage(v *visit) (*page, error) {
	all, err := get(v, route.Tasks(), route.None{})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all.Tasks, func(a, b document.ScopeTask) int { return cmp.Compare(taskRank(a), taskRank(b)) })
	d := tasksData{More: max(0, len(all.Tasks)-maxShownTasks)}
	for _, t := range all.Tasks[:len(all.Tasks)-d.More] {
		d.Tasks = append(d.Tasks, newTask(t, false))
	}
	return &page{Title: "Tasks", Tab: scopesTab, Template: "tasks", Data: d, Command: "fettle task list",
		Address: address(route.Tasks(), route.None{})}, nil
}

func taskRank(t document.ScopeTask) int {
	if t.Decide {
		return -1
	}
	return slices.Index([]document.TaskPhase{document.TaskFailed, document.TaskUnknown, document.TaskRunning,
		document.TaskClaimed, document.TaskWaiting, document.TaskDone}, t.Phase)
}

// undecided returns the tasks that need a decision. Older hubs have no tasks.
func undecided(v *visit) ([]document.ScopeTask, error) {
	all, err := get(v, route.Tasks(), route.None{})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(all.Tasks, func(t document.ScopeTask) bool { return !t.Decide }), err
}

func retryTask(v *visit) (string, string, error) {
	return changeTask(v, route.RetryTask(), document.ReasonRequest{Reason: v.PostForm.Get("reason")})
}

func resolveTask(v *visit) (string, string, error) {
	return changeTask(v, route.ResolveTask(), document.TaskResult{Result: document.TaskPhase(v.PostForm.Get("result")),
		Reason: v.PostForm.Get("reason")})
}

// changeTask decides about a task, if it still is in the state that the user has seen.
func changeTask[In any](v *visit, r route.Route[route.TaskName, In, document.Done], in In) (string, string, error) {
	id, task := scopeAt(v), v.PathValue("task")
	detail, err := get(v, route.Scope(), id)
	if err != nil {
		return "", "", err
	}
	i := slices.IndexFunc(detail.Tasks, func(t document.ScopeTask) bool { return t.Task == task })
	if i >= 0 && newTask(detail.Tasks[i], false).Seen() != v.PostForm.Get("seen") {
		return "", "", &document.Problem{Title: "The task has changed", Status: http.StatusConflict,
			Detail: fmt.Sprintf("cannot decide about the task %.64s: it changed after you read the page, and is %s now",
				task, detail.Tasks[i].Phase),
			Hint: "See its attempts: " + commandOf("fettle", "scope", "show", id.Kind+"/"+id.Scope)}
	}
	at := route.TaskName{Kind: id.Kind, Scope: id.Scope, Task: task}
	done, err := client.Call(v.Context(), v.client, r, at, in)
	return done.Text, scopePath(id.Kind + "/" + id.Scope), err
}
