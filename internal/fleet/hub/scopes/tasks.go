package scopes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

const (
	// beginWithin is the time within which a target must begin an attempt. Then it refuses the attempt.
	beginWithin = time.Minute
	// answerWithin is the time for which the hubs wait for the result of an attempt. It is longer than the attempt: a
	// target that was offline reports later whether it began.
	answerWithin = 7 * 24 * time.Hour
)

// JobID returns the identity of the job of an attempt. It follows from the attempt, so two leaders create the same job.
func JobID(scope, name string, fence uint64) string {
	sum := sha256.Sum256([]byte(scope + "/" + name))
	return fmt.Sprintf("task-%x-%d", sum[:8], fence)
}

// errUnchanged ends a change without a write.
var errUnchanged = errors.New("nothing changed")

// decide applies an event to the newest state of a task, and stores the result. created permits a new task.
func (s *Scopes) decide(ctx context.Context, key string, e task.Event, created bool) (task.State, task.Answer, error) {
	var a task.Answer
	apply := func(f *records.Formatted[task.State]) error {
		before := f.State
		if f.State, a = task.Decide(before, e, s.Now().UnixMilli()); reflect.DeepEqual(before, f.State) {
			return errUnchanged
		}
		f.Format = records.TaskFormatOf(f.State)
		return nil
	}
	f, err := s.Records.Tasks.Change(ctx, key, apply)
	if errors.Is(err, fleet.ErrNotFound) && created {
		f = records.Formatted[task.State]{}
		if err = apply(&f); err == nil {
			err = s.Records.Tasks.Put(ctx, key, f, 0)
		}
	}
	switch {
	case errors.Is(err, errUnchanged):
		return f.State, a, nil
	case err != nil:
		return f.State, a, fmt.Errorf("cannot store the task %s: %w", key, err)
	}
	s.forget()
	s.record(ctx, f.State, a, e)
	return f.State, a, nil
}

// answers applies the results of attempts, also of attempts that were lost, and the time.
func (s *Scopes) answers(ctx context.Context) error {
	var errs []error
	s.Records.Tasks.Each(func(key string, f records.Formatted[task.State], _ uint64) {
		for _, a := range f.State.Attempts {
			if a.Outcome == "" {
				errs = append(errs, s.answer(ctx, key, f.State, a))
			}
		}
		if open := f.State.Open; open != nil {
			errs = append(errs, s.answer(ctx, key, f.State, *open))
			if s.Now().UnixMilli() >= open.Deadline {
				_, _, err := s.decide(ctx, key, task.Event{Kind: task.Tick}, false)
				errs = append(errs, err)
			}
		}
	})
	return errors.Join(errs...)
}

// answer applies the result of one attempt. The job of an attempt that can still begin is created if it is missing.
func (s *Scopes) answer(ctx context.Context, key string, st task.State, a task.Attempt) error {
	if a.Hub {
		return nil // the hub itself stores the result
	}
	job, _, ok := s.Records.Jobs.Get(JobID(st.Scope, st.Task, a.Fence))
	if !ok {
		if a.Ended == 0 && s.Now().UnixMilli() < a.Expires {
			return s.createJob(ctx, st, a)
		}
		return nil
	}
	is, answered := job.Answers[fleet.TargetID(a.Target)]
	e := task.Event{Kind: task.End, Fence: a.Fence, Outcome: is.Task, Text: is.Error}
	switch {
	case !answered || is.Cancelled || is.Accepted && a.Accepted:
		return nil
	case is.Accepted:
		e.Kind = task.Accept
	case is.Interrupted:
		e.Outcome, e.Text = "", cmp.Or(is.Error, "the agent stopped during the attempt")
	case strings.HasPrefix(is.Error, fleet.UnsupportedJob):
		e.Outcome, e.Text = fleet.TaskRefused, "its agent is older and does no tasks"
	}
	if a.Ended > 0 && (e.Kind == task.Accept || e.Outcome == "") {
		return nil // the state has this loss
	}
	_, _, err := s.decide(ctx, key, e, false)
	return err
}

// createJob creates the job of an attempt, unless it exists.
func (s *Scopes) createJob(ctx context.Context, st task.State, a task.Attempt) error {
	id, begun := JobID(st.Scope, st.Task, a.Fence), time.UnixMilli(a.Begun)
	job := records.Job{Pending: []fleet.TargetID{fleet.TargetID(a.Target)}, Expires: begun.Add(answerWithin).Unix(),
		Job: fleet.Job{ID: id, What: fleet.JobTask, By: "task of " + st.Scope, At: begun.Unix(),
			Task: &fleet.TaskAttempt{Scope: st.Scope, Task: st.Task, Digest: a.Digest, Fence: a.Fence,
				VerifyOnly: a.VerifyOnly, Undo: a.Undo, Expires: a.Expires / 1000}}}
	if err := unlessConflict(s.Records.Jobs.Put(ctx, id, job, 0)); err != nil {
		return fmt.Errorf("cannot create the job of the task %s of %s: %w", st.Task, st.Scope, err)
	}
	return nil
}

// begin begins attempts of the tasks that are due.
func (s *Scopes) begin(ctx context.Context, commit string, e *evaluation) error {
	if _, frozen := s.frozen(); frozen || s.settles() {
		return nil
	}
	var errs []error
	onHub := map[string]bool{} // by kind
	for _, k := range e.input.Declared.Kinds {
		onHub[k.Name] = k.ByHubs()
	}
	for _, declared := range e.input.Declared.Scopes {
		for _, t := range declared.Tasks {
			key := declared.ID() + "/" + t.Name
			f, _, ok := s.Records.Tasks.Get(key)
			if !ok || f.State.Digest != t.Digest {
				continue
			}
			due, _, _ := f.State.Due(s.Now().UnixMilli(), waitsFor(declared, t, e) == "")
			if !due {
				continue
			}
			if onHub[declared.Kind] {
				errs = append(errs, s.attemptHere(ctx, key))
			} else if to, ok := s.pick(declared, f.State, commit, e); ok {
				errs = append(errs, s.attempt(ctx, key, to))
			}
		}
	}
	for _, st := range s.undos() {
		errs = append(errs, s.beginUndo(ctx, st, commit, e))
	}
	return errors.Join(errs...)
}

// beginUndo begins an attempt to undo a task that was removed, if one is due.
func (s *Scopes) beginUndo(ctx context.Context, st task.State, commit string, e *evaluation) error {
	key := st.Scope + "/" + st.Task
	f, _, known := s.Records.Scopes.Get(st.Scope) // also of a scope that was removed
	if due, _, _ := st.Due(s.Now().UnixMilli(), true); !due || !known {
		return nil
	}
	if f.State.Kind.ByHubs() {
		return s.attemptHere(ctx, key)
	}
	if to, ok := s.pick(f.State.Scope, st, commit, e); ok {
		return s.attempt(ctx, key, to)
	}
	return nil
}

// frozen returns the reason of a freeze of the whole fleet.
func (s *Scopes) frozen() (why string, is bool) {
	f, _, ok := s.Records.Freezes.Get(assign.AllKey)
	return f.Reason, ok && f.InForce(s.Now().Unix())
}

// attempt begins an attempt on a target, and creates its job.
func (s *Scopes) attempt(ctx context.Context, key string, to document.Target) error {
	st, a, err := s.decide(ctx, key, task.Event{Kind: task.Begin, Target: string(to.ID), Name: to.Name,
		Limit: beginWithin}, false)
	if err != nil || a.Attempt == nil {
		return err
	}
	return s.createJob(ctx, st, *a.Attempt)
}

// attemptHere begins an attempt on this hub. The leading hub does tasks itself: it has the newest commit, and can store
// results, because it holds the lease. Another hub has neither for sure.
func (s *Scopes) attemptHere(ctx context.Context, key string) error {
	if why := s.OnHub.unable(); why != "" {
		_, _, err := s.decide(ctx, key, task.Event{Kind: task.Hold, Text: s.OnHub.Hub + " leads: " + why}, false)
		return err
	}
	_, _, err := s.decide(ctx, key, task.Event{Kind: task.Begin, Name: s.OnHub.Hub, Hub: true, Limit: beginWithin}, false)
	s.own.poke()
	return err
}

// waitsFor returns the first condition of a task that does not hold, or "".
func waitsFor(declared query.Scope, t query.ScopeTask, e *evaluation) string {
	for _, after := range t.After {
		what, name, _ := strings.Cut(after, ".")
		holds := false
		switch what {
		case "check":
			for _, c := range e.results[declared.ID()].Checks {
				holds = holds || c.Name == name && c.Verdict == scope.Ready
			}
		case "task":
			holds = e.input.Tasks[scope.TaskKey{Scope: declared.ID(), Task: name}] == scope.TaskDone
		}
		if !holds {
			return after
		}
	}
	return ""
}

// isAble reports whether a target can begin an attempt. It must have accepted its newest assignment: otherwise the hubs
// may have lost their data, and with it attempts that the target could not report yet.
func isAble(t document.Target) bool {
	return t.ID != "" && absence(t) == "" && t.Connected && t.State == document.Ready && t.Behind == 0 &&
		t.Assigned == t.Accepted && t.Assigned.Epoch > 0
}

// pick returns the target for the next attempt: a member that is connected and ready. Members with the newest commit
// come first, and members that refused the content of the task come last. For an undo, members that did the task come
// first, because other ones may not know how to undo it.
func (s *Scopes) pick(declared query.Scope, st task.State, commit string, e *evaluation) (document.Target, bool) {
	var able []document.Target
	newest, refused, did := map[fleet.TargetID]int{}, map[fleet.TargetID]int{}, map[fleet.TargetID]int{}
	for _, name := range declared.Targets {
		t := e.targets[name]
		if isAble(t) {
			able = append(able, t)
			if a, _, ok := s.Records.Assignments.Get(string(t.ID)); !ok || a.Assignment.Root.Revision.Commit != commit {
				newest[t.ID] = 1
			}
		}
	}
	if len(able) == 0 {
		return document.Target{}, false
	}
	for _, a := range st.Attempts {
		switch id := fleet.TargetID(a.Target); {
		case a.Outcome != fleet.TaskRefused && !a.Undo && st.Undoing:
			did[id] = -1
		case a.Outcome == fleet.TaskRefused && a.Digest == st.Current().Digest:
			refused[id]++
		}
	}
	return slices.MinFunc(able, func(a, b document.Target) int {
		if st.Undoing {
			return cmp.Or(cmp.Compare(refused[a.ID], refused[b.ID]), cmp.Compare(did[a.ID], did[b.ID]),
				cmp.Compare(newest[a.ID], newest[b.ID]), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(cmp.Compare(newest[a.ID], newest[b.ID]), cmp.Compare(refused[a.ID], refused[b.ID]),
			cmp.Compare(a.Name, b.Name))
	}), true
}

// unlessConflict ignores that another hub was faster.
func unlessConflict(err error) error {
	if errors.Is(err, fleet.ErrConflict) {
		return nil
	}
	return err
}
