package environments

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// Environments returns the stored environments, sorted by name.
func (s Service) Environments(context.Context) (document.EnvironmentPage, error) {
	out := []document.Environment{}
	for _, e := range s.Records.Environments.Values() {
		out = append(out, s.describe(e))
	}
	slices.SortFunc(out, func(a, b document.Environment) int { return strings.Compare(a.Name, b.Name) })
	return document.EnvironmentPage{Format: document.EnvironmentPageFormat, Environments: out}, nil
}

// Environment returns one stored environment.
func (s Service) Environment(_ context.Context, at route.EnvironmentName) (document.EnvironmentDetail, error) {
	e, _, exists := s.Records.Environments.Get(at.Environment)
	if !exists {
		return document.EnvironmentDetail{}, s.unknown(at.Environment)
	}
	d := document.EnvironmentDetail{Format: document.EnvironmentDetailFormat, Environment: s.describe(e),
		Members: []document.EnvironmentMember{}}
	of := assign.EnvironmentsOf(s.Records.Environments.Values(), s.Now().Unix())
	for _, id := range e.Targets {
		t, _, _ := s.Records.Targets.Get(string(id))
		m := document.EnvironmentMember{Target: id, Name: t.Name, Commits: s.commits(e, id)}
		switch {
		case t.Standing != fleet.Active:
			m.Absent = string(t.Standing)
		case d.Environment.State == document.EnvironmentInForce && of[id].Name != e.Name:
			m.Absent = "in the environment " + of[id].Name
		}
		d.Members = append(d.Members, m)
	}
	slices.SortFunc(d.Members, func(a, b document.EnvironmentMember) int { return strings.Compare(a.Name, b.Name) })
	return d, nil
}

func (s Service) describe(e assign.Environment) document.Environment {
	d := document.Environment{Name: e.Name, State: document.EnvironmentInForce, Parent: e.Parent, Branch: e.Branch,
		Modules: e.Modules, Domain: e.Domain, OwnDomain: e.Domain, Vars: e.Vars, Targets: len(e.Targets), Select: e.Select,
		By: e.By, Rule: e.Rule, Reason: e.Reason, At: e.At, Until: e.Until * int64(time.Second)}
	switch {
	case !e.InForce(s.Now().Unix()):
		d.State = document.EnvironmentEnded
	case s.declared()[e.Name] != nil:
		d.State = document.EnvironmentIgnored
	}
	if f, _, ok := s.Records.Scopes.Get(e.ID()); ok && d.Domain == "" && f.State.Scope.Dynamic && !f.State.Undeclared {
		d.Domain = f.State.Scope.Domain
	}
	if ref, _, ok := s.Records.Refs.Get(records.RefKey(e.Branch)); ok && d.State == document.EnvironmentInForce {
		d.Commit, d.Error = ref.Revision.Commit, ref.Error
	}
	return d
}

// commits returns the commits of an environment in the newest assignment of a target.
func (s Service) commits(e assign.Environment, id fleet.TargetID) (out []string) {
	g, _, ok := s.Records.Assignments.Get(string(id))
	if !ok || g.Assignment.Withdrawn != "" {
		return nil
	}
	for _, part := range append([]fleet.Assigned{g.Assignment.Root}, g.Assignment.Modules...) {
		if part.Rollout == assign.PinRollout && part.Revision.Branch == e.Branch {
			out = append(out, part.Revision.Commit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s Service) unknown(name string) error {
	var others []string
	for _, o := range s.Records.Environments.Values() {
		others = append(others, o.Name)
	}
	hint := "List them: fettle environment list"
	if near := diag.Nearest(name, others, 3); near != "" {
		hint = "Did you mean: " + near
	}
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the environment %.40q", name), Hint: hint}
}
