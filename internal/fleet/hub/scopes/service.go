package scopes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/scope"
)

// Service answers requests of users about scopes and tasks.
type Service struct{ Of *Scopes }

// HandleRoutes registers the handlers of scopes and tasks.
func (s Service) HandleRoutes(t *api.Table) {
	api.HandleGetAt(t, route.Scopes(), s.page)
	api.HandleGet(t, route.Tasks(), func(ctx context.Context) (document.TaskPage, error) {
		all, err := s.Tasks(ctx)
		return document.TaskPage{Format: document.TaskPageFormat, Tasks: append([]document.ScopeTask{}, all...)}, err
	})
	api.HandleGetAt(t, route.Scope(), s.Scope)
	api.HandleGetAt(t, route.ScopeHistory(), s.ScopeHistory)
	api.HandleDone(t, route.RetryTask(), "The task {task} of {kind}/{scope} begins again when it is due.", s.RetryTask)
	api.HandleDone(t, route.ResolveTask(), "The result of the task {task} of {kind}/{scope} is set.", s.ResolveTask)
}

// Scopes returns all declared scopes, sorted by ID.
func (s Service) Scopes(ctx context.Context) (out []document.Scope, err error) {
	e, err := s.Of.evaluation(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Of.Records.Scopes.Values() {
		if !f.State.Undeclared {
			out = append(out, describeScope(f.State, e))
		}
	}
	return out, nil
}

// page returns the scopes that a user selects.
func (s Service) page(ctx context.Context, q route.ScopeQuery) (document.ScopePage, error) {
	if _, ok := s.Of.scopeOf(q.Within); q.Within != "" && !ok {
		return document.ScopePage{}, s.unknownScope(q.Within)
	}
	all, err := s.Scopes(ctx)
	if err != nil {
		return document.ScopePage{}, err
	}
	return selectScopes(all, q)
}

// describeScope returns a scope with its newest verdict.
func describeScope(x records.Scope, e *evaluation) document.Scope {
	id := x.Scope.ID()
	r, known := e.results[id]
	d := document.Scope{ID: id, Kind: x.Scope.Kind, Name: x.Scope.Name, Description: x.Scope.Description,
		Verdict: document.Verdict(cmp.Or(r.Verdict, scope.Unknown)), Members: r.Members, Counted: r.Counted,
		Connected: r.Connected, MinMembers: x.Scope.MinMembers, Scopes: x.Scope.Scopes, Reasons: reasonsOf(r.Reasons),
		Parent: x.Scope.Parent, Domain: x.Scope.Domain}
	if x.Kind.ByHubs() {
		d.Executor = x.Kind.Executor
	}
	if known && x.Verdict.Verdict == r.Verdict {
		d.Since = x.Verdict.Since * 1e6
	}
	return d
}

func reasonsOf(all []scope.Reason) []document.ScopeReason {
	out := []document.ScopeReason{}
	for _, r := range all {
		out = append(out, document.ScopeReason{Verdict: document.Verdict(r.Verdict), Subject: string(r.Subject),
			Name: r.Name, Text: r.Text, Targets: r.Targets})
	}
	return out
}

// Scope returns one declared scope.
func (s Service) Scope(ctx context.Context, at route.ScopeID) (document.ScopeDetail, error) {
	id := at.Kind + "/" + at.Scope
	x, ok := s.Of.scopeOf(id)
	if !ok {
		return document.ScopeDetail{}, s.unknownScope(id)
	}
	e, err := s.Of.evaluation(ctx)
	if err != nil {
		return document.ScopeDetail{}, err
	}
	d := document.ScopeDetail{Format: document.ScopeDetailFormat, Scope: describeScope(x, e), Source: x.Scope.Source,
		Members: []document.ScopeMember{}, Checks: []document.ScopeCheck{}, Tasks: []document.ScopeTask{}}
	if made := x.Scope.Element; made != nil {
		d.Element, d.Parameters = made.Key, made.Value
	}
	for _, name := range x.Scope.Targets {
		t := e.targets[name]
		m := document.ScopeMember{Target: t.ID, Name: name, State: document.ScopeMemberState(absence(t))}
		if m.State == "" {
			m.State = document.ScopeOffline
			if t.Connected {
				m.State = document.ScopeConnected
			}
		}
		d.Members = append(d.Members, m)
	}
	d.Checks = append(d.Checks, describeChecks(x, e)...)
	for _, t := range x.Scope.Tasks {
		if f, _, ok := s.Of.Records.Tasks.Get(id + "/" + t.Name); ok {
			d.Tasks = append(d.Tasks, s.describeTask(f.State, e))
		}
	}
	for _, f := range s.Of.Records.Tasks.Values() { // that were removed
		if st := f.State; st.Scope == id && st.Undeclared && (st.Undoing || st.Unfinished()) {
			d.Tasks = append(d.Tasks, s.describeTask(st, e))
		}
	}
	return d, nil
}

func describeChecks(x records.Scope, e *evaluation) (out []document.ScopeCheck) {
	results := map[string]scope.Check{}
	for _, c := range e.results[x.Scope.ID()].Checks {
		results[c.Name] = c
	}
	for _, c := range x.Scope.Checks {
		r, known := results[c.Name]
		d := document.ScopeCheck{Name: c.Name, Quorum: c.Quorum, Verdict: document.Verdict(r.Verdict), Required: r.Required,
			OK: r.OK, Failed: r.Failed, Pending: r.Pending, Unknown: r.Unsure, Testers: []document.ScopeTester{}}
		if !known {
			d.Verdict = document.VerdictUnknown // no members count
		}
		for _, t := range scope.Testers(e.input, x.Scope, c) {
			d.Testers = append(d.Testers, document.ScopeTester{Name: t.Name, Hub: t.Hub,
				Absent: document.ScopeMemberState(t.Absent), Outcome: t.Outcome, Since: t.Since, Text: t.Text})
		}
		out = append(out, d)
	}
	return out
}

// ScopeHistory returns the verdicts of a scope, the newest first.
func (s Service) ScopeHistory(_ context.Context, at route.ScopeID) (document.ScopeHistory, error) {
	id := at.Kind + "/" + at.Scope
	out := document.ScopeHistory{Format: document.ScopeHistoryFormat, Scope: id, Verdicts: []document.ScopeVerdict{}}
	f, _, ok := s.Of.Records.Scopes.Get(id)
	if !ok {
		return out, s.unknownScope(id)
	}
	all := f.State.Earlier
	if f.State.Verdict.Verdict != "" {
		all = append(slices.Clone(all), f.State.Verdict)
	}
	for _, v := range slices.Backward(all) {
		out.Verdicts = append(out.Verdicts, document.ScopeVerdict{Verdict: document.Verdict(v.Verdict), Since: v.Since * 1e6,
			Reasons: reasonsOf(v.Reasons)})
	}
	return out, nil
}

// unknownScope returns the error for a scope without a record in the memory of this hub.
func (s Service) unknownScope(id string) error {
	hint := "List the scopes: fettle scope list"
	var ids []string
	for _, x := range s.Of.stored().Scopes {
		ids = append(ids, x.ID())
	}
	if near := scope.Nearest(id, ids); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the scope %.130q", id), Hint: hint}
}

// Tasks returns all tasks, sorted by scope and name.
func (s Service) Tasks(ctx context.Context) (out []document.ScopeTask, err error) {
	e, err := s.Of.evaluation(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Of.Records.Tasks.Values() {
		out = append(out, s.describeTask(f.State, e))
	}
	return out, nil
}

func (s Service) describeTask(t task.State, e *evaluation) document.ScopeTask {
	i := t.Instance()
	d := document.ScopeTask{Scope: t.Scope, Task: t.Task, Phase: document.TaskPhase(t.Phase()), Since: i.Since * 1e6,
		Digest: i.Digest, Text: i.Text, By: i.By, Undeclared: t.Undeclared, Undo: t.Undoing,
		Decide:   i.Phase == task.Unknown && i.Ask && t.Open == nil && (!t.Undeclared || t.Unfinished()),
		Attempts: []document.TaskAttempt{}}
	if t.Open != nil {
		a := describeAttempt(t, *t.Open)
		d.Open = &a
		if t.Open.Digest == i.Digest && !t.Open.VerifyOnly {
			d.Since = a.Begun
		}
	}
	for _, a := range t.Attempts {
		d.Attempts = append(d.Attempts, describeAttempt(t, a))
	}
	x, _ := s.Of.scopeOf(t.Scope)
	for _, declared := range x.Scope.Tasks {
		if declared.Name == t.Task {
			d.Command = declared.Command
			if declared.Undo != nil {
				d.UndoCommand = declared.Undo.Command
			}
			d.Waits = s.waits(x, t, waitsFor(x.Scope, declared, e), e)
		}
	}
	if t.Undoing {
		f, _, _ := s.Of.Records.Scopes.Get(t.Scope) // it can be removed
		d.Waits = s.waits(f.State, t, "", e)
	}
	if i.NotBefore*1e6 > s.Of.Now().UnixNano() && t.Open == nil {
		d.Next = i.NotBefore * 1e6
	}
	return d
}

// waits returns why no attempt of a task begins, or "". after is the first condition that does not hold, or "".
func (s Service) waits(x records.Scope, t task.State, after string, e *evaluation) string {
	frozen, is := s.Of.frozen()
	why := ""
	if x.Kind.ByHubs() {
		if i := t.Instance(); i.By == "" { // the leading hub stored why it does not begin
			why = i.Text
		}
	} else if _, able := s.Of.pick(x.Scope, t, "", e); !able {
		why = "no member is connected and ready"
	}
	switch {
	case t.Phase() != task.Waiting:
		return ""
	case t.Open != nil:
		return "an attempt with earlier content is not finished"
	case after != "":
		return after
	case is:
		return "the fleet is frozen: " + frozen
	case why != "":
		return why
	case s.Of.settles():
		return "hubs wait 2 minutes after a start until targets are connected again"
	}
	return ""
}

func describeAttempt(t task.State, a task.Attempt) document.TaskAttempt {
	d := document.TaskAttempt{Fence: a.Fence, Digest: a.Digest, Target: fleet.TargetID(a.Target), Name: a.Name, Hub: a.Hub,
		Undo: a.Undo, VerifyOnly: a.VerifyOnly, Accepted: a.Accepted, Begun: a.Begun * 1e6, Ended: a.Ended * 1e6,
		Outcome: a.Outcome,
		Text:    a.Text}
	if !a.Hub {
		d.Job = JobID(t.Scope, t.Task, a.Fence)
	}
	return d
}

// maxReason is the maximum size of a reason, in bytes.
const maxReason = 500

// RetryTask lets a user begin a task again.
func (s Service) RetryTask(ctx context.Context, by api.Caller, at route.TaskName, r document.ReasonRequest) error {
	if r.Reason == "" {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot retry a task without a reason",
			Hint: "Add a reason: fettle task retry SCOPE TASK --reason WHY"}
	}
	return s.order(ctx, at.Kind+"/"+at.Scope, at.Task, task.Event{Kind: task.Retry, By: by.Name, Text: r.Reason})
}

// ResolveTask lets a user set the result of a task.
func (s Service) ResolveTask(ctx context.Context, by api.Caller, at route.TaskName, r document.TaskResult) error {
	if r.Reason == "" || r.Result != document.TaskDone && r.Result != document.TaskFailed {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot set the result of a task without a result and a reason",
			Hint: "Add both: fettle task resolve SCOPE TASK --done --reason WHY, or with --failed"}
	}
	return s.order(ctx, at.Kind+"/"+at.Scope, at.Task, task.Event{Kind: task.Resolve, By: by.Name, Text: r.Reason,
		Done: r.Result == document.TaskDone})
}

// possible reports whether all parts of a key are possible names.
func possible(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if barrier.CheckName(part) != nil { // the same for scopes and tasks
			return false
		}
	}
	return true
}

// order applies the decision of a user.
func (s Service) order(ctx context.Context, scope, name string, e task.Event) error {
	if len(e.Text) > maxReason {
		return &api.Refusal{Status: api.BadRequest, Hint: "Shorten the reason",
			Why: fmt.Sprintf("cannot use a reason of %d bytes: the maximum is %d", len(e.Text), maxReason)}
	}
	key := scope + "/" + name
	st, a, err := task.State{}, task.Answer{Refused: task.NoTask}, error(nil)
	if possible(key) {
		st, a, err = s.Of.decide(ctx, key, e, false)
	}
	if errors.Is(err, fleet.ErrNotFound) {
		err = s.Of.Records.Tasks.Absent(ctx, key)
		a.Refused = task.NoTask
	}
	if err != nil {
		return err
	}
	s.Of.Poke()
	switch a.Refused {
	case task.NoTask:
		return &api.Refusal{Status: api.NotFound, Hint: "List the tasks: fettle task list",
			Why: fmt.Sprintf("cannot find the task %.64q of the scope %.130q", name, scope)}
	case task.IsOpen:
		return &api.Refusal{Status: api.Conflict, Hint: "Wait for its end: fettle task list",
			Why: fmt.Sprintf("cannot decide about the task %s: an attempt on %s is not finished. It ends at %s at the latest",
				name, st.Open.Name, time.UnixMilli(st.Open.Deadline).UTC().Format(time.RFC3339))}
	case task.NoResult:
		return &api.Refusal{Status: api.Conflict, Hint: "Show the scope: fettle scope show " + scope,
			Why: fmt.Sprintf("cannot set the result of the task %s, because it is %s", name, st.Phase())}
	}
	return nil
}
