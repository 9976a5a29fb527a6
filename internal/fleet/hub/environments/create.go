package environments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// HandleRoutes registers the handlers of stored environments.
func (s Service) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Environments(), s.Environments)
	api.HandleGetAt(t, route.Environment(), s.Environment)
	api.HandleGet(t, route.EnvironmentRules(), s.Rules)
	api.HandlePost(t, route.FollowBranches(), s.FollowBranches)
	api.Handle(t, route.UnfollowBranches(), s.UnfollowBranches)
	api.Handle(t, route.ExtendEnvironment(), s.ExtendEnvironment)
	api.Handle(t, route.RemoveEnvironment(), s.RemoveEnvironment)
}

// CreateEnvironment stores an environment. If it exists with equal values, nothing changes.
func (s Service) CreateEnvironment(ctx context.Context, by access.Principal, r document.EnvironmentRequest,
	targets []fleet.TargetID) (string, error) {
	e := assign.Environment{Name: r.Name, Parent: r.Parent, Branch: r.Branch,
		Modules: slices.Compact(slices.Sorted(slices.Values(r.Modules))), Domain: r.Domain, Vars: r.Vars,
		Select: r.Select, By: by.Name, Reason: r.Reason,
		Targets: slices.Sorted(slices.Values(targets)), At: s.Now().UnixNano(),
		Until: s.Now().Add(time.Duration(r.For)).Unix()}
	if err := s.checkValues(e); err != nil {
		return "", err
	}
	old, rev, exists := s.Records.Environments.Get(e.Name)
	if exists && old.InForce(s.Now().Unix()) {
		if !same(old, e) {
			return "", &api.Refusal{Status: api.Conflict,
				Why:  fmt.Sprintf("cannot create the environment %s: it exists with other values", e.Name),
				Hint: "See it: fettle environment show " + e.Name + ". To replace it, remove it first"}
		}
		return fmt.Sprintf("The environment %s exists already, until %s.", e.Name, until(old)), s.isNewest(ctx, e.Name, rev)
	}
	if err := s.check(ctx, e); err != nil {
		return "", err
	}
	unchecked, err := s.checkContent(ctx, "the environment "+e.Name, e)
	if err != nil {
		return "", err
	}
	if err := s.tidy(ctx, e.Name); err != nil {
		return "", err
	}
	switch err := s.Records.Environments.Put(ctx, e.Name, e, rev); {
	case errors.Is(err, fleet.ErrConflict):
		return "", changed(e.Name)
	case err != nil:
		return "", err
	}
	s.note(ctx, by, e, fmt.Sprintf("created from %s for %s, which follow %s until %s", e.Parent, count(len(e.Targets)),
		e.Branch, until(e)), e.Reason)
	return fmt.Sprintf("The environment %s exists until %s. Its targets follow %s: %s.%s", e.Name, until(e), e.Branch,
		strings.Join(s.names(e.Targets), ", "), unchecked), nil
}

// isNewest returns an error unless a revision of an environment is the newest one in the store.
func (s Service) isNewest(ctx context.Context, name string, rev uint64) error {
	newest, err := s.Records.Environments.StoredRev(ctx, name)
	if err == nil && newest != rev {
		err = changed(name)
	}
	return err
}

// same reports whether two environments have equal values. Their times, reasons and selections can differ.
func same(a, b assign.Environment) bool {
	return a.Parent == b.Parent && a.Branch == b.Branch && a.Domain == b.Domain && maps.Equal(a.Vars, b.Vars) &&
		slices.Equal(a.Modules, b.Modules) && slices.Equal(a.Targets, b.Targets)
}

// tidy removes environments that ended long ago, except one.
func (s Service) tidy(ctx context.Context, except string) error {
	for _, e := range s.Records.Environments.Values() {
		if e.Name != except && e.Until != 0 && !e.Removed && s.Now().Unix()-e.Until > int64(keptFor/time.Second) {
			if err := s.Records.Environments.Remove(ctx, e.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExtendEnvironment sets another end of an environment in force, which can be earlier.
func (s Service) ExtendEnvironment(ctx context.Context, by api.Caller, at route.EnvironmentName,
	r document.EnvironmentExtension) (document.Done, error) {
	if err := api.CheckEnvironmentTime(r.For); err != nil {
		return document.Done{}, err
	}
	e, rev, exists := s.Records.Environments.Get(at.Environment)
	switch {
	case !exists:
		return document.Done{}, s.unknown(at.Environment)
	case !e.InForce(s.Now().Unix()):
		return document.Done{}, &api.Refusal{Status: api.Conflict, Why: fmt.Sprintf("the environment %s has ended", e.Name),
			Hint: "Create it again: fettle environment create --help"}
	case e.Rule != "":
		return document.Done{}, &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("the environment %s of the rule %s ends after its branch is deleted", e.Name, e.Rule),
			Hint: "See: fettle environment rules"}
	}
	e.Until = s.Now().Add(time.Duration(r.For)).Unix()
	err := s.Records.Environments.Put(ctx, e.Name, e, rev)
	if errors.Is(err, fleet.ErrConflict) {
		return document.Done{}, changed(e.Name)
	}
	if err == nil {
		s.note(ctx, by.Principal, e, "ends at "+until(e), r.Reason)
	}
	return api.Done(err, "The environment %s exists until %s.", e.Name, until(e))
}

// RemoveEnvironment removes an environment. Without an environment it does nothing.
func (s Service) RemoveEnvironment(ctx context.Context, by api.Caller, at route.EnvironmentName,
	r document.ReasonRequest) (document.Done, error) {
	e, rev, exists := s.Records.Environments.Get(at.Environment)
	if exists && e.Rule != "" {
		return s.removeOfRule(ctx, by, e, rev, r.Reason)
	}
	// The record is removed even if this hub does not have it yet: another hub may have stored it a moment ago.
	if err := s.Records.Environments.Remove(ctx, at.Environment); err != nil || !exists {
		return api.Done(err, "This hub has no environment %s.", at.Environment)
	}
	s.note(ctx, by.Principal, e, "removed", r.Reason)
	if !e.InForce(s.Now().Unix()) {
		return api.Done(nil, "The environment %s had ended before.", e.Name)
	}
	return api.Done(nil, "The environment %s is removed. Its targets return to %s: %s.", e.Name, e.Parent,
		strings.Join(s.names(e.Targets), ", "))
}

// removeOfRule ends an environment of a rule. The rule does not create it again while its branch exists.
func (s Service) removeOfRule(ctx context.Context, by api.Caller, e assign.Environment, rev uint64,
	reason string) (document.Done, error) {
	if e.Removed {
		return api.Done(nil, "The environment %s is removed already.", e.Name)
	}
	if e.InForce(s.Now().Unix()) {
		e.Until = s.Now().Unix()
	}
	e.Removed = true
	err := s.Records.Environments.Put(ctx, e.Name, e, rev)
	if errors.Is(err, fleet.ErrConflict) {
		return document.Done{}, changed(e.Name)
	}
	if err == nil {
		s.note(ctx, by.Principal, e, "removed", reason)
	}
	return api.Done(err, "The environment %s is removed until its branch is deleted and pushed again. Its targets "+
		"return to %s: %s.", e.Name, e.Parent, strings.Join(s.names(e.Targets), ", "))
}
