package source

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// group reads a target_group. It must have a selector: targets = ["*"] selects all targets.
func (ps *parser) group(b *hclsyntax.Block) {
	l, ok := ps.level(b, "targets", "labels")
	if !ok {
		return
	}
	for _, old := range ps.prog.Groups {
		if old.Name == l.Name {
			ps.Errorf(l.Range, "Target group declared twice",
				"The target_group %q is already declared at %s. Rename or remove one of the two.", l.Name, old.Range)
			return
		}
	}
	at := b.Body.Attributes
	if at["targets"] == nil && at["labels"] == nil {
		ps.Errorf(l.Range, "Target group selects nothing",
			`Set targets = ["web*"] or labels = { env = "prod" }. To select all targets, write targets = ["*"].`)
		return
	}
	ps.prog.Groups = append(ps.prog.Groups, &Group{Level: l, Selector: ps.targetSelector(at)})
}

// targetSelector reads the attributes targets and labels of a target_group or a wave.
func (ps *parser) targetSelector(at hclsyntax.Attributes) (out Selector) {
	if a := at["targets"]; a != nil {
		out.Names, out.Patterns = ps.patterns(a.Expr)
	}
	if a := at["labels"]; a != nil {
		out.Labels = ps.selector(a.Expr)
	}
	return out
}

// patterns reads names with * ? and [a-z], and regular expressions between slashes. A pattern must
// match the whole name.
func (ps *parser) patterns(e hclsyntax.Expression) (out []func(string) bool, texts []string) {
	exprs, hds := hcl.ExprList(e)
	ps.Add(syntax.FromHCL(hds)...)
	out = []func(string) bool{}
	for _, x := range exprs {
		v, ok := earlyOf(ps, x.(hclsyntax.Expression), cty.String)
		if !ok {
			continue
		}
		match, err := pattern(v.AsString())
		if err != nil {
			ps.Errorf(syntax.RangeOf(x.Range()), "Bad pattern", "The pattern %q is not valid: %s.", v.AsString(), err)
			continue
		}
		out, texts = append(out, match), append(texts, v.AsString())
	}
	return out, texts
}

func pattern(text string) (func(string) bool, error) {
	if len(text) > 1 && text[0] == '/' && strings.HasSuffix(text, "/") {
		if _, err := regexp.Compile(text[1 : len(text)-1]); err != nil {
			return nil, err // of the text as it was written
		}
		return regexp.MustCompile(`\A(?:` + text[1:len(text)-1] + `)\z`).MatchString, nil
	}
	if _, err := path.Match(text, ""); err != nil {
		return nil, err
	}
	return func(name string) bool {
		ok, _ := path.Match(text, name)
		return ok
	}, nil
}

// selector reads labels. Each is a text, or a list of alternatives; "*" accepts any value.
func (ps *parser) selector(e hclsyntax.Expression) map[string][]string {
	out := map[string][]string{}
	v, hds := e.Value(ps.within(ps.prog.Pure))
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return out
	}
	wrong := func(rng diag.Range) {
		ps.Errorf(rng, "Bad label selector",
			`labels must be an object of strings or lists of strings: labels = { env = "prod", role = ["web", "app"] }.`)
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		wrong(syntax.RangeOf(e.Range()))
		return out
	}
	for _, k := range syntax.SortedNames(v.AsValueMap()) {
		values, ok := anyOf(v.AsValueMap()[k])
		if !ok {
			wrong(syntax.RangeOf(e.Range()))
		}
		out[k] = values
	}
	return out
}

// anyOf reads a string, or a list of strings.
func anyOf(v cty.Value) ([]string, bool) {
	list := []cty.Value{v}
	if t := v.Type(); !v.IsNull() && (t.IsTupleType() || t.IsListType() || t.IsSetType()) {
		list = v.AsValueSlice()
	}
	var out []string
	for _, e := range list {
		if e.IsNull() || e.Type() != cty.String {
			return nil, false
		}
		out = append(out, e.AsString())
	}
	return out, true
}

// Matches reports whether it selects a target with this name and these labels.
func (s *Selector) Matches(name string, labels map[string]string) bool {
	if s.Names != nil {
		named := false
		for _, match := range s.Names {
			named = named || match(name)
		}
		if !named {
			return false
		}
	}
	for k, values := range s.Labels {
		if have, ok := labels[k]; !ok || !slices.Contains(values, have) && !slices.Contains(values, "*") {
			return false
		}
	}
	return true
}

// Limits of environments.
const (
	MaxNested  = 8   // environments from one without a parent to its innermost child, both included
	MaxDynamic = 200 // dynamic environments
)

// environment reads the attributes that only an environment has.
func (x scopeBlock) environment(at hclsyntax.Attributes, s *Scope) {
	e := &Environment{Level: Level{Kind: EnvironmentKind, Name: s.Name, Range: s.Range, Vars: at["vars"], Data: at["data"],
		Merge: at["merge"], Each: s.Each}, Parent: x.textOrNull(at["parent"]),
		Domain: x.textOrNull(at["domain"]), members: s.Members, rng: s.Range}
	if a := at["parent"]; a != nil {
		e.rng = syntax.RangeOf(a.Expr.Range())
	}
	s.Environment, x.prog.Environments = e, append(x.prog.Environments, e)
}

// textOrNull returns a text, "" without the attribute or with null, so that an element of for_each can omit the value.
func (x scopeBlock) textOrNull(a *hclsyntax.Attribute) string {
	if a != nil {
		if v, hds := a.Expr.Value(x.context()); !hds.HasErrors() && v.IsNull() {
			return ""
		}
	}
	return x.textIn(a)
}

// environments connects environments with their parents.
func (x scopeBlock) environments() {
	byName, parents := map[string]*Environment{}, map[string][]string{}
	for _, e := range x.prog.Environments {
		byName[e.Name] = e
		if e.Parent != "" {
			parents[e.Name] = []string{e.Parent}
		}
	}
	for _, e := range x.prog.Environments {
		if e.Parent != "" && byName[e.Parent] == nil {
			x.Errorf(e.rng, "Unknown environment",
				"The environment %q has the parent %q, which the repository does not declare.%s", e.Name, e.Parent,
				syntax.Suggest(e.Parent, syntax.Names(byName)))
		}
	}
	if c := Cycle(parents, syntax.SortedNames(byName)); c != nil {
		x.Errorf(byName[c[0]].rng, "Cyclic environments",
			"Each of these environments has the next one as its parent: %s. Remove one parent.", strings.Join(c, " → "))
	}
	if x.List.HasErrors() {
		return
	}
	for _, e := range x.prog.Environments {
		nest(&x.Reports, e, byName)
	}
	if !x.List.HasErrors() {
		x.dynamic(byName)
	}
}

// dynamic connects targets with the environments that users of a hub created for them. A declared environment of the
// same name takes precedence: then the target has no dynamic one.
func (x scopeBlock) dynamic(declared map[string]*Environment) {
	all := map[string]*Environment{}
	for _, t := range x.prog.Targets {
		if t.Enrolled == nil || t.Enrolled.Environment == nil {
			continue
		}
		e := t.Enrolled.Environment
		old := all[e.Name]
		switch {
		case declared[e.Name] != nil:
			t.Enrolled.Environment = nil
			continue
		case old == nil:
			all[e.Name] = e
			continue
		case old.Parent != e.Parent || old.Domain != e.Domain || !maps.EqualFunc(old.Given, e.Given, cty.Value.RawEquals):
			x.Errorf(e.Range, "Environment with two meanings",
				"The environment %q has other values at %s. All its members must have the same.", e.Name, old.Range)
		}
		t.Enrolled.Environment = old
	}
	if len(all) > MaxDynamic {
		x.Errorf(diag.Range{}, "Too many environments", "Targets can have %d environments that users of hubs create.",
			MaxDynamic)
		return
	}
	for _, t := range x.prog.Targets {
		if t.Enrolled == nil {
			continue
		}
		for _, e := range t.Enrolled.TestsFor {
			if declared[e.Name] == nil && all[e.Name] == nil {
				all[e.Name] = e
			}
		}
	}
	for _, name := range syntax.SortedNames(all) {
		e, r := all[name], &syntax.Reports{}
		if e.Parent != "" && declared[e.Parent] == nil {
			r.Errorf(e.Range, "Unknown environment",
				"The environment %q has the parent %q, which the repository does not declare.%s", e.Name, e.Parent,
				syntax.Suggest(e.Parent, syntax.Names(declared)))
		}
		nest(r, e, declared)
		e.Errors = r.List
		x.prog.Dynamic = append(x.prog.Dynamic, e)
	}
}

// nest sets the chain of an environment, and the values that come from its parents. The parents have no cycle.
func nest(r *syntax.Reports, e *Environment, byName map[string]*Environment) {
	if e.Chain != nil {
		return
	}
	if up := byName[e.Parent]; up != nil {
		nest(r, up, byName)
		e.inherit(up)
	}
	e.Chain = append(e.Chain, e)
	if len(e.Chain) == MaxNested+1 {
		r.Errorf(e.rng, "Environments nested too deeply", "The environment %q has %d parents. The maximum is %d.", e.Name,
			len(e.Chain)-1, MaxNested-1)
	}
	if e.Domain != "" && !ValidDomain(e.Domain) {
		r.Errorf(e.Range, "Bad domain", "The environment %q has the domain %q, which is not a valid name of a host. Set "+
			"domain to letters, digits and - in parts that dots separate.", e.Name, e.Domain)
	}
}

// inherit takes the end of the domain from the parent.
func (e *Environment) inherit(up *Environment) {
	e.Chain = slices.Clip(slices.Clone(up.Chain))
	if e.Domain == "" && up.Domain != "" {
		e.Domain = e.Name + "." + up.Domain
	}
}

// Value returns the value of `environment` in expressions. e can be nil: then all texts are empty.
func (e *Environment) Value() cty.Value {
	if e == nil {
		e = &Environment{}
	}
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(e.Name), "domain": cty.StringVal(e.Domain),
		"parent": cty.StringVal(e.Parent)})
}

// Levels returns the levels of variables of an environment and its parents, the outermost first. e can be nil.
func (e *Environment) Levels() (out []*Level) {
	if e == nil {
		return nil
	}
	for _, x := range e.Chain {
		out = append(out, &x.Level)
	}
	return out
}

// ValidDomain reports whether a text can be the public name of an environment.
func ValidDomain(text string) bool { return len(text) <= 253 && domainName().MatchString(text) }

var domainName = sync.OnceValue(func() *regexp.Regexp {
	const part = `[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?`
	return regexp.MustCompile(`^` + part + `(\.` + part + `)*$`)
})

// indexEnvironments fills an empty index.
func indexEnvironments(x *environmentIndex, all []*Environment) {
	x.built, x.byLabel = true, map[string]map[string][]int{}
	for i, e := range all {
		label, values := "", []string{}
		for _, l := range slices.Sorted(maps.Keys(e.members.Labels)) {
			if v := e.members.Labels[l]; label == "" && !slices.Contains(v, "*") {
				label, values = l, slices.Compact(slices.Sorted(slices.Values(v)))
			}
		}
		if label == "" {
			x.rest = append(x.rest, i)
		}
		for _, v := range values {
			if x.byLabel[label] == nil {
				x.byLabel[label] = map[string][]int{}
			}
			x.byLabel[label][v] = append(x.byLabel[label][v], i)
		}
	}
}

// Selecting returns the environments that select a target with this name and these labels, in the order of their
// declaration.
func (p *Program) Selecting(name string, labels map[string]string) (out []*Environment) {
	x := &p.selecting
	if !x.built {
		indexEnvironments(x, p.Environments)
	}
	found := slices.Clone(x.rest)
	for label, value := range labels {
		found = append(found, x.byLabel[label][value]...)
	}
	slices.Sort(found)
	for _, i := range found {
		if e := p.Environments[i]; e.members.Matches(name, labels) {
			out = append(out, e)
		}
	}
	return out
}
