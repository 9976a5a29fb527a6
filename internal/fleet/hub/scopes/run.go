package scopes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
)

// The times of Run.
const (
	// EvaluateEvery is the time between two evaluations, and EvaluateAfter the least time between them after a change.
	EvaluateEvery = 15 * time.Second
	EvaluateAfter = time.Second
	// KeepRemoved is the time for which scopes and tasks are kept after they were removed from the repository.
	KeepRemoved = 30 * 24 * time.Hour
	// commitsAhead is the time by which the clocks of authors can be ahead.
	commitsAhead = 5 * time.Minute
)

// Run stores the declared scopes and their verdicts, and begins attempts of tasks, until ctx ends. Only the leading hub
// calls it. It must not matter if two hubs do.
func (s *Scopes) Run(ctx context.Context) error {
	for {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.Warn("cannot update the scopes: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.declared.wake:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(EvaluateAfter):
			}
		case <-time.After(EvaluateEvery):
		}
	}
}

// tidy makes the stored scopes equal to the declared ones, reads results of tasks, evaluates, and begins attempts.
// Nothing begins unless the declaration of the newest commit is stored completely.
func (s *Scopes) tidy(ctx context.Context) error {
	at, all, known := s.declaration()
	if !known {
		return nil
	}
	err := errors.Join(s.define(ctx, at, all), s.removeOthers(ctx, all))
	if err != nil {
		return errors.Join(err, s.answers(ctx))
	}
	if len(all.Scopes) == 0 && len(s.undos()) == 0 {
		return s.answers(ctx)
	}
	if err := s.answers(ctx); err != nil {
		return err
	}
	e, err := s.evaluateAgain(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.storeVerdicts(ctx, e), s.begin(ctx, at.Commit, e))
}

// define stores the declared scopes and tasks, unless they are stored already. After a loss of data, tasks of a commit
// from before it can be missing.
func (s *Scopes) define(ctx context.Context, at fleet.Revision, all query.Scopes) error {
	kinds := map[string]query.ScopeKind{}
	for _, k := range all.Kinds {
		kinds[k.Name] = k
	}
	known, rev, _ := s.Records.Restorations.Get(records.RestorationKey)
	first := s.restored() > known.At
	missing := first || s.restored() > 0 && at.Time > 0 && at.Time*1000 <= s.restored()+commitsAhead.Milliseconds()
	var errs []error
	for _, declared := range all.Scopes {
		errs = append(errs, s.defineScope(ctx, kinds[declared.Kind], declared))
		for _, t := range declared.Tasks {
			errs = append(errs, s.defineTask(ctx, at, kinds[declared.Kind], declared.ID(), t, missing))
		}
	}
	err := errors.Join(errs...)
	if err == nil && first {
		err = s.Records.Restorations.Put(ctx, records.RestorationKey, records.Restoration{At: s.restored()}, rev)
	}
	return err
}

func (s *Scopes) defineScope(ctx context.Context, kind query.ScopeKind, declared query.Scope) error {
	f, rev, ok := s.Records.Scopes.Get(declared.ID())
	if ok && !f.State.Undeclared && f.State.Kind == kind && reflect.DeepEqual(f.State.Scope, declared) {
		return nil
	}
	again := ok && !f.State.Undeclared
	f.Format, f.State.Kind, f.State.Scope = records.ScopeFormat, kind, declared
	f.State.Undeclared, f.State.Removed = false, 0
	if err := s.Records.Scopes.Put(ctx, declared.ID(), f, rev); err != nil {
		return fmt.Errorf("cannot store the scope %s: %w", declared.ID(), err)
	}
	if !again {
		s.note(ctx, declared.ID(), "declared", "")
	}
	return nil
}

func (s *Scopes) defineTask(ctx context.Context, at fleet.Revision, kind query.ScopeKind, scope string,
	t query.ScopeTask, missing bool) error {
	e := task.Event{Kind: task.Define, Scope: scope, Task: t.Name, Restored: s.restored(), Missing: missing,
		Definition: definitionOf(t)}
	if t.Undo != nil {
		undo := definitionOf(*t.Undo)
		if e.Undo = &undo; kind.ByHubs() {
			e.At = &at
		}
	}
	f, _, ok := s.Records.Tasks.Get(scope + "/" + t.Name)
	if next, _ := task.Decide(f.State, e, s.Now().UnixMilli()); ok && reflect.DeepEqual(next, f.State) {
		return nil
	}
	_, _, err := s.decide(ctx, scope+"/"+t.Name, e, true)
	return err
}

func definitionOf(t query.ScopeTask) task.Definition {
	const second = int64(time.Second)
	return task.Definition{Digest: t.Digest, Retries: t.Retries, RetryAfter: time.Duration(t.RetryAfter * second),
		Timeout: time.Duration(t.Timeout * second), OnUnknown: task.OnUnknown(t.OnUnknown), Verifiable: t.Verify != nil}
}

// removeOthers marks scopes and tasks that are no longer declared, and removes them later. An undo needs the members
// that a scope had.
func (s *Scopes) removeOthers(ctx context.Context, all query.Scopes) error {
	scopes, tasks, needed, now := map[string]bool{}, map[string]bool{}, map[string]bool{}, s.Now().UnixMilli()
	for _, x := range all.Scopes {
		scopes[x.ID()] = true
		for _, t := range x.Tasks {
			tasks[x.ID()+"/"+t.Name] = true
		}
	}
	for _, st := range s.undos() {
		needed[st.Scope] = true
	}
	var errs []error
	s.Records.Scopes.Each(func(id string, f records.Formatted[records.Scope], rev uint64) {
		switch old := f.State.Undeclared && now >= f.State.Removed+KeepRemoved.Milliseconds(); {
		case scopes[id], needed[id] && f.State.Undeclared:
		case old:
			errs = append(errs, unlessConflict(s.Records.Scopes.RemoveAt(ctx, id, rev)))
		case !f.State.Undeclared:
			f.State.Undeclared, f.State.Removed = true, now
			errs = append(errs, s.Records.Scopes.Put(ctx, id, f, rev))
			s.note(ctx, id, "no longer declared", "")
		}
	})
	s.Records.Tasks.Each(func(id string, f records.Formatted[task.State], rev uint64) {
		switch {
		case tasks[id]:
		case f.State.Expired(now, KeepRemoved):
			errs = append(errs, unlessConflict(s.Records.Tasks.RemoveAt(ctx, id, rev)))
		case !f.State.Undeclared, f.State.Undo != nil && f.State.Restored < s.restored():
			_, _, err := s.decide(ctx, id, task.Event{Kind: task.Undefine, Restored: s.restored()}, false)
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}
