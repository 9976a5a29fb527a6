package scopes

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

// evaluatedFor is the time for which requests of users use the copy.
const evaluatedFor = 5 * time.Second

// evaluation returns the state of all scopes. It can be a few seconds old.
func (s *Scopes) evaluation(ctx context.Context) (*evaluation, error) {
	e, now := &s.evaluated, s.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.newest != nil {
		if age := now.Sub(e.newest.at); age >= 0 && age < evaluatedFor {
			return e.newest, nil
		}
	}
	return s.evaluate(ctx)
}

// evaluateAgain returns the state of all scopes now.
func (s *Scopes) evaluateAgain(ctx context.Context) (*evaluation, error) {
	s.evaluated.mu.Lock()
	defer s.evaluated.mu.Unlock()
	return s.evaluate(ctx)
}

// forget makes the next request of a user evaluate again.
func (s *Scopes) forget() {
	s.evaluated.mu.Lock()
	defer s.evaluated.mu.Unlock()
	s.evaluated.newest = nil
}

// evaluate evaluates the stored scopes. The caller holds the mutex.
func (s *Scopes) evaluate(ctx context.Context) (*evaluation, error) {
	out := &evaluation{at: s.Now(), targets: map[string]document.Target{}, results: map[string]scope.Result{}}
	out.input = scope.Input{Declared: s.stored(), Targets: map[string]scope.Target{},
		Tasks: map[scope.TaskKey]scope.TaskPhase{}, Hubs: s.hubResults()}
	if len(out.input.Declared.Scopes)+len(s.undos()) > 0 {
		if err := s.observe(ctx, out); err != nil {
			return nil, err
		}
	}
	for _, t := range s.Records.Tasks.Values() {
		if st := t.State; !st.Undeclared {
			out.input.Tasks[scope.TaskKey{Scope: st.Scope, Task: st.Task}] = scope.TaskPhase(st.Phase())
		}
	}
	for _, r := range scope.Evaluate(out.input) {
		out.results[r.Scope] = r
	}
	s.evaluated.newest = out
	return out, nil
}

// stored returns the declared scopes as the store has them, sorted by ID.
func (s *Scopes) stored() (out query.Scopes) {
	kinds := map[string]bool{}
	for _, f := range s.Records.Scopes.Values() {
		if f.State.Undeclared {
			continue
		}
		out.Scopes = append(out.Scopes, f.State.Scope)
		if k := f.State.Kind; !kinds[k.Name] {
			kinds[k.Name] = true
			out.Kinds = append(out.Kinds, k)
		}
	}
	return out
}

// ByTarget returns the scopes that contain each target, directly, by the name of the target.
func (s *Scopes) ByTarget() map[string][]string {
	out := map[string][]string{}
	for _, x := range s.stored().Scopes {
		for _, name := range x.Targets {
			out[name] = append(out[name], x.ID())
		}
	}
	return out
}

// observe adds the state of all targets.
func (s *Scopes) observe(ctx context.Context, to *evaluation) error {
	all, err := s.Observe(ctx)
	if err != nil {
		return err
	}
	checks, err := s.Checks(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		// A name can belong to one target of the fleet, and to several that were retired or revoked.
		if had, is := to.targets[t.Name]; is && had.Standing == fleet.Active {
			continue
		}
		to.targets[t.Name] = t
		to.input.Targets[t.Name] = scope.Target{ID: t.ID, Absent: absence(t), Connected: t.Connected, Checks: checks[t.ID]}
	}
	return nil
}

// absence returns why a target does not count as a member, or "".
func absence(t document.Target) scope.Absence {
	switch {
	case t.Standing == fleet.Retired:
		return scope.Retired
	case t.Standing == fleet.Revoked:
		return scope.Revoked
	case t.Standing != fleet.Active:
		return scope.NotEnrolled
	case t.Suspect != nil:
		return scope.Suspect
	case t.Frozen != "":
		return scope.Frozen
	}
	return ""
}

// scopeOf returns a stored scope that the repository declares.
func (s *Scopes) scopeOf(id string) (records.Scope, bool) {
	f, _, ok := s.Records.Scopes.Get(id)
	return f.State, ok && !f.State.Undeclared
}

// hubResults returns the stored results of the checks that hubs test, by scope.
func (s *Scopes) hubResults() map[string]scope.Hub {
	out := map[string]scope.Hub{}
	for _, f := range s.Records.Scopes.Values() {
		if x := f.State; !x.Undeclared && len(x.HubChecks) > 0 {
			out[x.Scope.ID()] = scope.Hub{Name: x.Hub, Checks: x.HubChecks}
		}
	}
	return out
}
