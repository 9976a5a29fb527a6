package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// ClusterKind is the built-in kind of scope.
const ClusterKind = "cluster"

// EmptyVerdicts are the verdicts that a scope without members can have. The first is the default.
func EmptyVerdicts() []string { return []string{"empty", "failed"} }

// read adds the block to the program.
func (x scopeBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	if !lockName().MatchString(name) || len(name) > maxLockName {
		x.Errorf(r, "Bad name for a scope",
			"%q is not a valid name. Use up to %d letters, digits, _ and -, and begin with a letter.", name, maxLockName)
		return
	}
	if b.Type == "scope_kind" {
		x.kind(b, name, r)
		return
	}
	x.scope(b, name, r)
}

func (x scopeBlock) kind(b *hclsyntax.Block, name string, r diag.Range) {
	x.only(b, []string{"description", "enabled", "overlap", "empty"}, nil)
	i := slices.IndexFunc(x.prog.ScopeKinds, func(k *ScopeKind) bool { return k.Name == name })
	switch {
	case i >= 0:
		x.Errorf(r, "Kind of scope declared twice", "The scope_kind %q is already declared at %s. Remove one of the two.",
			name, x.prog.ScopeKinds[i].Range)
		return
	case len(x.prog.ScopeKinds) == MaxScopeKinds:
		x.Errorf(r, "Too many blocks", "A repository can declare %d blocks of the type scope_kind.", MaxScopeKinds)
		return
	}
	at := b.Body.Attributes
	x.prog.ScopeKinds = append(x.prog.ScopeKinds, &ScopeKind{Name: name, Range: r,
		Description: x.textIn(at["description"]), Disabled: !x.boolOf(at, "enabled", true),
		Overlap: x.boolOf(at, "overlap", true), Empty: x.choice(at["empty"], EmptyVerdicts())})
}

func (x scopeBlock) scope(b *hclsyntax.Block, name string, r diag.Range) {
	known := []string{"description", "targets", "labels", "scopes", "min_members"}
	if b.Type == "scope" {
		known = append(known, "kind")
	}
	x.only(b, known, []string{"check", "task"})
	at := b.Body.Attributes
	s := &Scope{Kind: ClusterKind, Name: name, Range: r, Description: x.textIn(at["description"]),
		afters: map[string]diag.Range{}}
	if b.Type == "scope" {
		if s.Kind = x.textIn(at["kind"]); at["kind"] == nil {
			x.Errorf(r, "Scope without a kind", `Set kind, the name of a scope_kind block: kind = "rack".`)
			return
		}
	}
	if !x.added(s) {
		return
	}
	x.members(at, s)
	s.MinMembers = x.whole(at["min_members"], 0, 0, MaxMembers)
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "check":
			x.check(sub, s)
		case "task":
			x.task(sub, s)
		}
	}
	x.conditions(s)
}

// added adds the scope, unless its name is in use.
func (x scopeBlock) added(s *Scope) bool {
	i := slices.IndexFunc(x.prog.Scopes, func(old *Scope) bool { return old.ID() == s.ID() })
	switch {
	case i >= 0:
		x.Errorf(s.Range, "Scope declared twice", "The scope %q is already declared at %s. Rename or remove one of the two.",
			s.ID(), x.prog.Scopes[i].Range)
		return false
	case len(x.prog.Scopes) == MaxScopes:
		x.Errorf(s.Range, "Too many scopes", "A repository can declare %d scopes.", MaxScopes)
		return false
	}
	x.prog.Scopes = append(x.prog.Scopes, s)
	return true
}

func (x scopeBlock) members(at hclsyntax.Attributes, s *Scope) {
	targets, scopes := at["targets"] != nil || at["labels"] != nil, at["scopes"]
	switch {
	case targets && scopes != nil:
		x.Errorf(syntax.RangeOf(scopes.NameRange), "Two sorts of members",
			"The members of a scope are either targets or other scopes. Declare one more scope for the targets, and add it "+
				"to scopes.")
	case targets:
		m := x.targetSelector(at)
		s.Members = &m
	case scopes != nil:
		exprs, hds := hcl.ExprList(scopes.Expr)
		x.Add(syntax.FromHCL(hds)...)
		for _, e := range exprs {
			if v, ok := x.prog.Early(&x.Reports, e.(hclsyntax.Expression), cty.String); ok {
				s.Scopes = append(s.Scopes, ScopeMember{ID: v.AsString(), Range: syntax.RangeOf(e.Range())})
			}
		}
		if len(s.Scopes) > MaxScopes {
			x.Errorf(s.Range, "Too many scopes", "A scope can have %d scopes as members.", MaxScopes)
		}
	default:
		x.Errorf(s.Range, "Scope without members",
			`Set targets = ["web*"], labels = { role = "db" }, or scopes = ["rack/a"]. To select all targets, write `+
				`targets = ["*"].`)
	}
}
