// Package environments stores environments that operators create: their targets follow a branch of their own for a
// limited time. The hub that leads puts them into effect.
//
//	s := environments.Service{Now: time.Now, Records: table, Events: recorder, HasRef: follower.HasRef, …}
//	s.HandleRoutes(table)
//
// The creation and the removal of an environment may be repeated. If hubs are restored from a backup, the environments
// of the backup exist.
package environments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
)

// maxEnvironments limits the environments in force.
const maxEnvironments = 100

// keptFor is how long the list shows an environment after its end.
const keptFor = 7 * 24 * time.Hour

// Limits of rules.
const (
	maxRules   = 20
	maxWaiting = 50 // branches without an environment that are stored for each rule
	maxKeep    = 30 * 24 * time.Hour
)

// Service answers requests of users about environments.
type Service struct {
	Now     func() time.Time
	Records *records.Table
	Events  events.Recorder
	// HasRef asks the repository for a branch or tag.
	HasRef func(ctx context.Context, name string) (bool, error)
	// CheckEnvironment returns the errors in the modules and variables of an environment. err is the reason why they
	// cannot be checked now. nil checks nothing.
	CheckEnvironment func(ctx context.Context, e assign.Environment) (wrong []string, err error)
}

// declared returns the members of the environments that the repository declares, by name. Members that are in an
// environment of an operator return to its parent, so they count as members of the parent.
func (s Service) declared() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	var created []query.Scope
	for _, f := range s.Records.Scopes.Values() {
		switch x := f.State.Scope; {
		case x.Kind != assign.EnvironmentKind || f.State.Undeclared:
		case x.Dynamic:
			created = append(created, x)
		default:
			out[x.Name] = map[string]bool{}
			for _, t := range x.Targets {
				out[x.Name][t] = true
			}
		}
	}
	for _, x := range created {
		for _, t := range x.Targets {
			if members := out[x.Parent]; members != nil {
				members[t] = true
			}
		}
	}
	return out
}

// domainOf returns the name of another environment with a domain, or "".
func (s Service) domainOf(domain, except string) string {
	for _, f := range s.Records.Scopes.Values() {
		x := f.State.Scope
		if x.Kind == assign.EnvironmentKind && !f.State.Undeclared && x.Domain == domain && x.Name != except {
			return x.Name
		}
	}
	for _, e := range s.Records.Environments.Values() {
		if e.Domain == domain && e.Name != except && e.InForce(s.Now().Unix()) {
			return e.Name
		}
	}
	return ""
}

func (s Service) note(ctx context.Context, by access.Principal, e assign.Environment, what, reason string) {
	if reason != "" {
		what += ": " + reason
	}
	s.Events.Note(ctx, fleet.HubEvent{Kind: fleet.ScopeChanged, By: by.Name,
		Text: fmt.Sprintf("scope %s: %s", e.ID(), what)})
}

func until(e assign.Environment) string {
	if e.Until == 0 {
		return "its branch is gone"
	}
	return time.Unix(e.Until, 0).UTC().Format("2006-01-02 15:04 MST")
}

func count(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

// names returns the names of targets, sorted.
func (s Service) names(ids []fleet.TargetID) (out []string) {
	for _, id := range ids {
		t, _, _ := s.Records.Targets.Get(string(id))
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

func changed(name string) error {
	return &api.Refusal{Status: api.Conflict,
		Why: fmt.Sprintf("another user changed the environment %s at the same time", name), Hint: "Try again"}
}
