package query

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// ScopesOf returns the scopes of a repository. They are empty if a label of a target has an error.
func ScopesOf(p *source.Program) (out Scopes, ds diag.List) {
	r := &syntax.Reports{}
	labels := map[string]map[string]string{} // by target
	for _, t := range p.Targets {
		labels[t.Name] = TargetLabels(p, r, t)
	}
	selected := func(s *source.Selector) (out []string) {
		for _, target := range syntax.SortedNames(labels) {
			if s != nil && s.Matches(target, labels[target]) {
				out = append(out, target)
			}
		}
		return out
	}
	out.Kinds = scopeKinds(p)
	for _, s := range p.Scopes {
		x := Scope{Kind: s.Kind, Name: s.Name, Description: s.Description, Targets: selected(s.Members),
			MinMembers: s.MinMembers, Tasks: s.Tasks, Source: placeOf(s.Range)}
		for _, m := range s.Scopes {
			x.Scopes = append(x.Scopes, m.ID)
		}
		slices.Sort(x.Scopes)
		for _, c := range s.Checks {
			x.Checks = append(x.Checks, ScopeCheck{Name: c.Name, Probe: c.Probe, From: selected(c.From), Quorum: c.Quorum,
				Every: c.Every, Timeout: c.Timeout, FailAfter: c.FailAfter, Digest: c.Digest, Source: placeOf(c.Range),
				Outside: c.From != nil})
		}
		if len(x.Targets) > source.MaxMembers {
			r.Errorf(s.Range, "Too many targets", "The scope %s selects %d targets. The maximum is %d.", s.ID(),
				len(x.Targets), source.MaxMembers)
		}
		out.Scopes = append(out.Scopes, x)
	}
	checkScopes(p, r, out)
	if r.List.HasErrors() {
		out = Scopes{}
	}
	return out, source.Finish(p, r.List)
}

func placeOf(r diag.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

// scopeKinds returns the kinds that scopes can have, sorted by name.
func scopeKinds(p *source.Program) []ScopeKind {
	all := map[string]ScopeKind{source.ClusterKind: {Name: source.ClusterKind, Overlap: true,
		Description: "targets that provide one service together", Empty: source.EmptyVerdicts()[0]}}
	for _, k := range p.ScopeKinds {
		delete(all, k.Name)
		if !k.Disabled {
			all[k.Name] = ScopeKind{Name: k.Name, Description: k.Description, Overlap: k.Overlap, Empty: k.Empty}
		}
	}
	var out []ScopeKind
	for _, name := range syntax.SortedNames(all) {
		out = append(out, all[name])
	}
	return out
}

// checkScopes reports unknown kinds and members, cycles, and targets in two scopes of a kind without overlap.
func checkScopes(p *source.Program, r *syntax.Reports, all Scopes) {
	var kinds, ids []string
	overlap := map[string]bool{}
	for _, k := range all.Kinds {
		kinds, overlap[k.Name] = append(kinds, k.Name), k.Overlap
	}
	members := map[string][]string{}
	for _, s := range all.Scopes {
		ids, members[s.ID()] = append(ids, s.ID()), s.Scopes
	}
	owner := map[string]string{} // by kind and target
	for i, s := range p.Scopes {
		if !slices.Contains(kinds, s.Kind) {
			r.Errorf(s.Range, "Unknown kind of scope",
				"The repository has no enabled kind of scope %q. Add a scope_kind block to fettle.hcl.%s", s.Kind,
				syntax.Near(s.Kind, kinds))
		}
		for _, m := range s.Scopes {
			if !slices.Contains(ids, m.ID) {
				r.Errorf(m.Range, "Unknown scope", "The repository does not declare the scope %q.%s", m.ID,
					syntax.Near(m.ID, ids))
			}
		}
		if source.Reaches(members, s.ID()) {
			r.Errorf(s.Range, "Cycle of scopes", "The scope %s is a member of itself. Remove it from scopes.", s.ID())
		}
		for _, target := range all.Scopes[i].Targets {
			other, twice := owner[s.Kind+" "+target]
			if twice && !overlap[s.Kind] {
				r.Errorf(s.Range, "Target in two scopes",
					"The target %q is a member of %s and of %s, and overlap = false of the kind forbids that.", target, other,
					s.ID())
			}
			owner[s.Kind+" "+target] = s.ID()
		}
	}
}

// Valid reports an error in Scopes that another process made.
func (s Scopes) Valid() error {
	if len(s.Scopes) > source.MaxScopes || len(s.Kinds) > source.MaxScopeKinds+1 {
		return fmt.Errorf("%d scopes are too many", len(s.Scopes))
	}
	seen := map[string]bool{}
	for _, x := range s.Scopes {
		if !source.ValidWait(x.Name, x.Targets) || !source.ValidWait(x.Kind, nil) || seen[x.ID()] ||
			len(x.Checks) > source.MaxParts || len(x.Tasks) > source.MaxParts {
			return fmt.Errorf("the scope %.80q is not valid", x.ID())
		}
		seen[x.ID()] = true
		names := map[string]bool{}
		for _, c := range x.Checks {
			if !source.ValidWait(c.Name, c.From) || names["check "+c.Name] || !source.ValidQuorum(c.Quorum) ||
				c.Every < 1 || c.Timeout < 1 || c.FailAfter < 0 {
				return fmt.Errorf("the check %.80q of %s is not valid", c.Name, x.ID())
			}
			names["check "+c.Name] = true
		}
		for _, t := range x.Tasks {
			if !source.ValidWait(t.Name, nil) || names["task "+t.Name] || len(t.Command) == 0 || t.Timeout < 1 ||
				t.RetryAfter < 0 || t.Retries < 0 || !slices.Contains(source.UnknownEffects(), t.OnUnknown) {
				return fmt.Errorf("the task %.80q of %s is not valid", t.Name, x.ID())
			}
			names["task "+t.Name] = true
		}
	}
	return nil
}

// OwnCheck is a check that one target tests.
type OwnCheck struct {
	Scope string // KIND/NAME
	ScopeCheck
}

// Tests returns the checks that a target tests, sorted by scope and name.
func (s Scopes) Tests(target string) (out []OwnCheck) {
	for _, x := range s.Scopes {
		for _, c := range x.Checks {
			from := x.Targets
			if c.Outside {
				from = c.From
			}
			if slices.Contains(from, target) {
				out = append(out, OwnCheck{Scope: x.ID(), ScopeCheck: c})
			}
		}
	}
	slices.SortFunc(out, func(a, b OwnCheck) int {
		return strings.Compare(a.Scope+" "+a.Name, b.Scope+" "+b.Name)
	})
	return out
}

// Task returns a task of a scope, if a target is a member of the scope.
func (s Scopes) Task(scope, name, target string) (ScopeTask, bool) {
	for _, x := range s.Scopes {
		i := slices.IndexFunc(x.Tasks, func(t ScopeTask) bool { return t.Name == name })
		if x.ID() == scope && i >= 0 && slices.Contains(x.Targets, target) {
			return x.Tasks[i], true
		}
	}
	return ScopeTask{}, false
}
