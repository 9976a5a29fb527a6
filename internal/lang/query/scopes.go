package query

import (
	"errors"
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
	all := indexTargets(p, r)
	members := environmentMembers(p, r, all)
	read := scopeReader{r, all}
	out.Kinds = scopeKinds(p)
	for _, s := range p.Scopes {
		byHubs := out.byHubs(s.Kind)
		x := Scope{Kind: s.Kind, Name: s.Name, Description: s.Description, MinMembers: s.MinMembers, Tasks: s.Tasks,
			Source: placeOf(s.Range), Element: elementOf(s.Each)}
		if e := s.Environment; e != nil {
			x.Targets, x.Environment = members[e.Name], Environment{Parent: e.Parent, Domain: e.Domain}
			read.tooMany(x.Targets, "environment "+e.Name, s.Range)
		} else {
			x.Targets = read.selected(s.Members, "scope "+s.ID(), s.Range)
		}
		for _, m := range s.Scopes {
			x.Scopes = append(x.Scopes, m.ID)
		}
		slices.Sort(x.Scopes)
		x.Scopes = slices.Compact(x.Scopes)
		x.Checks = read.checks(s.ID(), s.Checks, byHubs)
		out.Scopes = append(out.Scopes, x)
	}
	checkScopes(p, r, out)
	if slices.ContainsFunc(out.Kinds, func(k ScopeKind) bool { return k.Name == source.EnvironmentKind }) {
		out.Scopes = append(out.Scopes, read.dynamic(p, members)...)
	}
	if r.List.HasErrors() {
		out = Scopes{}
	}
	return out, source.Finish(p, r.List)
}

// byHubs reports whether hubs do the tasks of scopes of a kind.
func (s Scopes) byHubs(kind string) bool {
	return slices.ContainsFunc(s.Kinds, func(k ScopeKind) bool { return k.Name == kind && k.ByHubs() })
}

// scopeReader selects the targets of scopes. It reports selections of too many targets.
type scopeReader struct {
	*syntax.Reports
	all *targetIndex
}

func (x scopeReader) tooMany(names []string, what string, at diag.Range) {
	if len(names) > source.MaxMembers {
		x.Errorf(at, "Too many targets", "The %s selects %d targets. The maximum is %d.", what, len(names),
			source.MaxMembers)
	}
}

func (x scopeReader) selected(s *source.Selector, what string, at diag.Range) []string {
	if s == nil {
		return nil
	}
	out := x.all.selected(s)
	x.tooMany(out, what, at)
	return out
}

// checks selects the targets that test the declared checks of a scope.
func (x scopeReader) checks(id string, declared []source.ScopeCheck, byHubs bool) (out []ScopeCheck) {
	for _, c := range declared {
		out = append(out, ScopeCheck{Name: c.Name, Probe: c.Probe,
			From:   x.selected(c.From, "check "+c.Name+" of "+id, c.Range),
			Quorum: c.Quorum, Every: c.Every, Timeout: c.Timeout, FailAfter: c.FailAfter, Digest: c.Digest,
			Source: placeOf(c.Range), Outside: c.From != nil, Hub: c.From == nil && byHubs,
			Branches: c.Branches})
	}
	return out
}

func placeOf(r diag.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

// dynamic returns the dynamic environments without an error as scopes.
func (x scopeReader) dynamic(p *source.Program, members map[string][]string) (out []Scope) {
	for _, e := range p.Dynamic {
		if e.Errors == nil {
			out = append(out, Scope{Kind: source.EnvironmentKind, Name: e.Name, Targets: members[e.Name],
				Checks: x.checks(source.EnvironmentKind+"/"+e.Name, e.Checks, false), Source: placeOf(e.Range),
				Environment: Environment{Parent: e.Parent, Domain: e.Domain, Dynamic: true}})
		}
	}
	return out
}

// scopeKinds returns the kinds that scopes can have, sorted by name.
func scopeKinds(p *source.Program) []ScopeKind {
	all := map[string]ScopeKind{
		source.ClusterKind: {Name: source.ClusterKind, Overlap: true, Empty: source.EmptyVerdicts()[0],
			Executor:    source.MemberExecutor,
			Description: "targets that provide one service together"},
		source.EnvironmentKind: {Name: source.EnvironmentKind, Empty: source.EmptyVerdicts()[0],
			Executor:    source.MemberExecutor,
			Description: "an instance of the configuration, such as production or staging"},
		source.UniverseKind: {Name: source.UniverseKind, Overlap: true, Empty: source.EmptyVerdicts()[0],
			Executor:    source.HubExecutor,
			Description: "work of the whole installation, which hubs do"},
	}
	for _, k := range p.ScopeKinds {
		delete(all, k.Name)
		if !k.Disabled {
			all[k.Name] = ScopeKind{Name: k.Name, Description: k.Description, Overlap: k.Overlap, Empty: k.Empty,
				Executor: k.Executor}
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
	if c := source.Cycle(members, ids); c != nil {
		r.Errorf(p.Scopes[slices.Index(ids, c[0])].Range, "Cyclic scopes",
			"Each of these scopes has the next one as a member: %s. Remove one of them from the scopes of another.",
			strings.Join(c, " → "))
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
		for _, target := range all.Scopes[i].Targets {
			if s.Environment != nil { // reported at the target
				break
			}
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
	if len(s.Scopes) > source.MaxScopes+source.MaxDynamic || len(s.Kinds) > source.MaxScopeKinds+3 {
		return fmt.Errorf("%d scopes of %d kinds are too many", len(s.Scopes), len(s.Kinds))
	}
	kinds, members := map[string]ScopeKind{}, map[string][]string{}
	for _, k := range s.Kinds {
		_, twice := kinds[k.Name]
		if !source.ValidWait(k.Name, nil) || twice || !slices.Contains(source.EmptyVerdicts(), k.Empty) ||
			k.Executor != "" && !slices.Contains(source.Executors(), k.Executor) {
			return fmt.Errorf("the kind of scope %.80q is not valid", k.Name)
		}
		kinds[k.Name] = k
	}
	var ids []string
	for _, x := range s.Scopes {
		kind, known := kinds[x.Kind]
		if _, twice := members[x.ID()]; twice || !known {
			return fmt.Errorf("the scope %.80q is not valid", x.ID())
		}
		if err := errors.Join(x.valid(), x.validFor(kind)); err != nil {
			return err
		}
		ids, members[x.ID()] = append(ids, x.ID()), x.Scopes
	}
	for _, x := range s.Scopes {
		for _, m := range x.Scopes {
			if _, known := members[m]; !known {
				return fmt.Errorf("the member %.80q of the scope %.80q does not exist", m, x.ID())
			}
		}
	}
	if c := source.Cycle(members, ids); c != nil {
		return fmt.Errorf("the scope %.80q is a member of itself", c[0])
	}
	return validEnvironments(s.Scopes)
}

// WithoutInputs returns the scopes without the standard inputs and ranges of tasks, which only agents need.
func (s Scopes) WithoutInputs() Scopes {
	s.Scopes = slices.Clone(s.Scopes)
	for i, x := range s.Scopes {
		s.Scopes[i].Tasks = slices.Clone(x.Tasks)
		for j := range x.Tasks {
			t := &s.Scopes[i].Tasks[j]
			if t.Input, t.Range = "", (diag.Range{}); t.Undo != nil {
				undo := *t.Undo
				undo.Input, undo.Range = "", diag.Range{}
				t.Undo = &undo
			}
		}
	}
	return s
}

// valid reports an error in one scope.
func (s Scope) valid() error {
	if !source.ValidWait(s.Name, s.Targets) || len(s.Scopes) > source.MaxScopes || !slices.IsSorted(s.Scopes) ||
		len(s.Targets) > 0 && len(s.Scopes) > 0 || s.MinMembers < 0 || s.MinMembers > source.MaxMembers ||
		len(s.Checks) > source.MaxParts || len(s.Tasks) > source.MaxParts || !s.Element.valid() {
		return fmt.Errorf("the scope %.80q is not valid", s.ID())
	}
	parts, after := map[string]bool{}, map[string][]string{}
	for _, c := range s.Checks {
		if parts["check."+c.Name] || !c.valid() {
			return fmt.Errorf("the check %.80q of %s is not valid", c.Name, s.ID())
		}
		parts["check."+c.Name] = true
	}
	var names []string
	for _, t := range s.Tasks {
		name := "task." + t.Name
		if parts[name] || t.Valid() != nil {
			return fmt.Errorf("the task %.80q of %s is not valid", t.Name, s.ID())
		}
		parts[name] = true
		names, after[name] = append(names, name), t.After
	}
	for _, t := range s.Tasks {
		if slices.ContainsFunc(t.After, func(ref string) bool { return !parts[ref] }) {
			return fmt.Errorf("the task %.80q of %s is after an unknown part", t.Name, s.ID())
		}
	}
	if source.Cycle(after, names) != nil {
		return fmt.Errorf("a task of %s is after itself", s.ID())
	}
	return nil
}

// validFor reports members of a scope whose tasks hubs do, checks that the wrong hosts test, and secrets of a task that
// members do.
func (s Scope) validFor(kind ScopeKind) error {
	for _, c := range s.Checks {
		if c.Hub != (kind.ByHubs() && !c.Outside) {
			return fmt.Errorf("the check %.80q of %s has no tester", c.Name, s.ID())
		}
	}
	if kind.ByHubs() {
		if len(s.Targets)+len(s.Scopes)+s.MinMembers > 0 {
			return fmt.Errorf("the scope %.80q has members", s.ID())
		}
		return nil
	}
	for _, t := range s.Tasks {
		if len(t.Secrets) > 0 || t.Undo != nil && len(t.Undo.Secrets) > 0 {
			return fmt.Errorf("the task %.80q of %s has secrets", t.Name, s.ID())
		}
	}
	return nil
}

func (c ScopeCheck) valid() bool {
	return source.ValidWait(c.Name, c.From) && (c.Outside || len(c.From) == 0) && source.ValidQuorum(c.Quorum) &&
		source.ValidTimes(c.Every, c.Timeout, c.FailAfter) && c.Probe.Valid() == nil && c.Digest == source.DigestOf(c.Probe)
}

// OwnCheck is a check that one target tests.
type OwnCheck struct {
	Scope string // KIND/NAME
	ScopeCheck
}

// HubTests returns the checks that the leading hub tests, sorted by scope and name.
func (s Scopes) HubTests() []OwnCheck {
	return s.tests(func(_ Scope, c ScopeCheck) bool { return c.Hub })
}

// Tests returns the checks that a target tests, sorted by scope and name.
func (s Scopes) Tests(target string) []OwnCheck {
	return s.tests(func(x Scope, c ScopeCheck) bool {
		if c.Outside {
			return slices.Contains(c.From, target)
		}
		return slices.Contains(x.Targets, target)
	})
}

// tests returns the selected checks, sorted by scope and name.
func (s Scopes) tests(selected func(Scope, ScopeCheck) bool) (out []OwnCheck) {
	for _, x := range s.Scopes {
		for _, c := range x.Checks {
			if selected(x, c) {
				out = append(out, OwnCheck{Scope: x.ID(), ScopeCheck: c})
			}
		}
	}
	slices.SortFunc(out, func(a, b OwnCheck) int {
		return strings.Compare(a.Scope+" "+a.Name, b.Scope+" "+b.Name)
	})
	return out
}

// HubTask returns a task of a scope, if hubs do the tasks of the scope.
func (s Scopes) HubTask(scope, name string) (ScopeTask, bool) {
	for _, x := range s.Scopes {
		i := slices.IndexFunc(x.Tasks, func(t ScopeTask) bool { return t.Name == name })
		if x.ID() == scope && i >= 0 && s.byHubs(x.Kind) {
			return x.Tasks[i], true
		}
	}
	return ScopeTask{}, false
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
