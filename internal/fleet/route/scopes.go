package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// ScopeID contains the values in a path of one scope.
type ScopeID struct {
	Kind  string `path:"kind"`
	Scope string `path:"scope"`
}

// ScopeQuery selects scopes. The zero value selects all scopes, by ID.
type ScopeQuery struct {
	Kinds   []string `query:"kind" does:"only scopes of these kinds"`
	Verdict string   `query:"verdict" does:"only scopes with this verdict"`
	Within  string   `query:"within" does:"only the scope KIND/NAME, and the scopes that it contains, also indirectly"`
	Sort    string   `query:"sort" does:"id, verdict or since; a - before the name reverses the order"`
	Limit   int      `query:"limit" does:"return at most this number of items"`
	After   string   `query:"after" does:"after this cursor, which a page has; use the same sort"`
}

// TaskName contains the values in a path of one task.
type TaskName struct {
	Kind  string `path:"kind"`
	Scope string `path:"scope"`
	Task  string `path:"task"`
}

func ofScopes() []Row {
	return []Row{Scopes().Row, Scope().Row, ScopeHistory().Row, Tasks().Row, RetryTask().Row, ResolveTask().Row}
}

// Scopes returns a page of scopes with their verdicts.
func Scopes() (r Route[ScopeQuery, None, document.ScopePage]) {
	return r.get(access.Read, "/v1/scopes", "List scopes, such as clusters, and their verdicts")
}

// Scope shows one scope with its members, checks and tasks.
func Scope() (r Route[ScopeID, None, document.ScopeDetail]) {
	return r.get(access.Read, "/v1/scopes/{kind}/{scope}", "Show a scope with its members, checks and tasks")
}

// ScopeHistory also works for scopes that are no longer declared.
func ScopeHistory() (r Route[ScopeID, None, document.ScopeHistory]) {
	return r.get(access.Read, "/v1/scopes/{kind}/{scope}/history", "List earlier verdicts of a scope")
}

// Tasks lists the tasks of all scopes.
func Tasks() (r Route[None, None, document.TaskPage]) {
	return r.get(access.Read, "/v1/tasks", "List the tasks of scopes and their attempts")
}

// RetryTask begins a task again, also if it is done.
func RetryTask() (r Route[TaskName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/scopes/{kind}/{scope}/tasks/{task}/retry", "Do a task of a scope again")
}

// ResolveTask sets the result of a task that is unknown or failed.
func ResolveTask() (r Route[TaskName, document.TaskResult, document.Done]) {
	return r.post(access.Operate, "/v1/scopes/{kind}/{scope}/tasks/{task}/resolve", "Set the result of a task of a scope")
}
