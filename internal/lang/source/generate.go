package source

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// MaxTargets is the maximum number of targets that one target block makes.
const MaxTargets = 100_000

// MaxInstances is the maximum number of modules that one module block makes.
const MaxInstances = 1000

// generator reads the for_each of a block of a target, module or scope, nil if it has none. atLeast is the default.
func (ps *parser) generator(at hclsyntax.Attributes, atLeast int) *generatorOf {
	if at["for_each"] == nil {
		for _, name := range []string{"name", "at_least"} {
			if a := at[name]; a != nil {
				ps.Errorf(syntax.RangeOf(a.NameRange), "Attribute without for_each",
					"%s is for blocks with for_each. Without for_each, the name is the label of the block.", name)
			}
		}
		return nil
	}
	g := &generatorOf{each: at["for_each"], name: at["name"], atLeast: atLeast}
	if a := at["at_least"]; a != nil {
		v, ok := ps.prog.Early(&ps.Reports, a.Expr, cty.Number)
		if ok && gocty.FromCtyValue(v, &g.atLeast) != nil || g.atLeast < 0 || g.atLeast > MaxTargets {
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number of elements", "at_least must be a whole number from 0 to %d.",
				MaxTargets)
		}
	}
	return g
}

// generate replaces each target block that has a for_each by its targets, in the order of their keys. The names of all
// targets are different.
func (p *Program) generate() diag.List {
	r := &syntax.Reports{}
	named := make(map[string]*Target, len(p.Targets))
	for _, t := range p.Targets {
		if t.generator == nil {
			named[t.Name] = t
		}
	}
	out := make([]*Target, 0, len(p.Targets))
	for _, t := range p.Targets {
		if t.generator == nil {
			out = append(out, t)
			continue
		}
		p.more.generates = true
		for _, made := range p.targetsOf(r, t) {
			if old := named[made.Name]; old != nil {
				twice(r, t.generator, made, old)
				continue
			}
			named[made.Name] = made
			out = append(out, made)
		}
	}
	p.Targets = out
	return r.List
}

// twice reports a target that has the name of an earlier target.
func twice(r *syntax.Reports, g *generatorOf, made, old *Target) {
	first := "already declared at " + old.Range.String()
	if e := old.Each; e != nil {
		first = fmt.Sprintf("also made by the %s of the target block %q at %s", e, e.Block, old.Range)
	}
	rng := made.Each.Range
	if g.name != nil {
		rng = syntax.RangeOf(g.name.Expr.Range())
	}
	r.Errorf(rng, "Target declared twice",
		"The %s of the target block %q makes the target %q, which is %s. Give each target a different name.", made.Each,
		made.Each.Block, made.Name, first)
}

// targetsOf returns the targets of a block with for_each.
func (p *Program) targetsOf(r *syntax.Reports, t *Target) []*Target {
	g := t.generator
	elements, ok := p.elements(r, g.each.Expr, nil, t.Name, "target", MaxTargets)
	if !ok {
		return nil
	}
	if len(elements) < g.atLeast {
		r.Errorf(syntax.RangeOf(g.each.Expr.Range()), "Too few targets",
			"for_each of the target block %q has %s, and at_least is %d. The targets that no longer have an element would lose "+
				"their configuration. If so few elements are correct, lower at_least.", t.Name, count(len(elements)), g.atLeast)
		return nil
	}
	var out []*Target
	for _, e := range elements {
		made := *t
		made.generator, made.Each, made.Name = nil, e, e.Key
		at := e.Range
		if g.name != nil {
			at = syntax.RangeOf(g.name.Expr.Range())
			v, ok := p.EarlyIn(r, &made.Level, g.name.Expr, cty.String)
			if !ok {
				continue
			}
			made.Name = v.AsString()
		}
		if !generatedName().MatchString(made.Name) || strings.Contains(made.Name, "..") {
			r.Errorf(at, "Bad name for a target",
				"The %s of the target block %q makes the name %.80q. A name has at most 253 letters, digits, dots, - and _, "+
					"and begins and ends with a letter or digit. Set name, for example name = \"web-${each.key}\".", e, t.Name,
				made.Name)
			continue
		}
		out = append(out, &made)
	}
	return out
}

// instancesOf returns the modules of a block with for_each, evaluated once for each level.
func (p *Program) instancesOf(l *Level, u *ModuleUse) instances {
	if made, ok := l.instances[u]; ok {
		return made
	}
	r := &syntax.Reports{}
	var out instances
	g := u.generator
	elements, ok := p.elements(r, g.each.Expr, l.Each, u.Name, "module", MaxInstances)
	if ok && len(elements) < g.atLeast {
		r.Errorf(syntax.RangeOf(g.each.Expr.Range()), "Too few modules",
			"for_each of the module block %q has %s, and at_least is %d. The modules that no longer have an element would be "+
				"removed. If so few elements are correct, lower at_least.", u.Name, count(len(elements)), g.atLeast)
	}
	for _, e := range elements {
		out.files = e.files
		if !generatedName().MatchString(e.Key) || strings.Contains(e.Key, "..") {
			r.Errorf(e.Range, "Bad key for a module",
				"The %s of the module block %q is part of names. A key has at most 253 letters, digits, dots, - and _, and "+
					"begins and ends with a letter or digit.", e, u.Name)
			continue
		}
		made := *u
		made.Name, made.Each, made.generator = fmt.Sprintf("%s[%q]", u.Name, e.Key), e, nil
		out.uses = append(out.uses, &made)
	}
	out.ds = r.List
	if l.instances == nil {
		l.instances = map[*ModuleUse]instances{}
	}
	l.instances[u] = out
	return out
}

func count(n int) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}

var generatedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
})

// elements evaluates a for_each that depends on no target. It can use functions, files outside of modules/, lookups of
// the top level and, inside a target block with for_each, each of the target. The block has the type what.
func (p *Program) elements(r *syntax.Reports, e hclsyntax.Expression, in *Element, block, what string,
	most int) ([]*Element, bool) {
	rng := syntax.RangeOf(e.Range())
	used := p.Record.used
	p.Record.used = map[string]bool{}
	defer func() { p.Record.used = used }()
	ctx, ok := p.elementsContext(r, e, in, what)
	if !ok {
		return nil, false
	}
	p.Working(rng)
	p.Loops.Begin()
	v, hds := e.Value(ctx)
	if r.Add(p.FromHCL(hds)...); hds.HasErrors() {
		return nil, false
	}
	if !v.IsKnown() {
		r.Errorf(rng, "Bad for_each", "The elements of for_each are not known here.")
		return nil, false
	}
	if n := v.Type(); !v.IsNull() && (n.IsCollectionType() || n.IsObjectType()) && v.LengthInt() > most {
		r.Errorf(rng, "Too many elements", "for_each has %d elements, and the maximum for a %s block is %d.", v.LengthInt(),
			what, most)
		return nil, false
	}
	keys, vals, ok := r.Elements(rng, v, what)
	files := syntax.SortedNames(p.Record.used)
	out := make([]*Element, len(keys))
	for i, k := range keys {
		out[i] = &Element{Block: block, Key: k, Value: vals[i], Range: rng, files: files}
	}
	return out, ok
}

// elementsContext returns the values that a for_each uses.
func (p *Program) elementsContext(r *syntax.Reports, e hclsyntax.Expression, in *Element,
	what string) (*hcl.EvalContext, bool) {
	f := p.more.files
	if f == nil {
		f = &Directory{tree: outsideModules{p.Tree}, Path: ".", prog: p, Unseen: true}
		p.more.files = f
		p.Functions(f).Functions["secret"] = noSecret()
	}
	ctx := p.Functions(f).NewChild()
	ctx.Variables = map[string]cty.Value{}
	if in != nil {
		ctx.Variables["each"] = cty.ObjectVal(in.Each())
	}
	lookups := map[string]cty.Value{}
	for _, t := range e.Variables() {
		name, _ := syntax.StepName(t, 1)
		switch root := t.RootName(); {
		case root == "each" && in != nil:
		case root == "lookup" && p.Root.Directory.Lookups[name] != nil:
			l := p.Root.Directory.Lookups[name]
			if !l.Read(p.Root.Directory) {
				r.Add(l.Errors...)
				return nil, false
			}
			f.Use(l.Snapshot())
			lookups[name] = l.Value
		case root == "lookup":
			r.Errorf(syntax.RangeOf(t.SourceRange()), "Unknown lookup", "The top level declares no lookup %q.%s", name,
				syntax.Suggest(name, syntax.Names(p.Root.Directory.Lookups)))
			return nil, false
		default:
			r.Errorf(syntax.RangeOf(t.SourceRange()), "Not known in for_each",
				"for_each of a %s block is evaluated before any target is known, so it can use only functions, files and "+
					"lookups, and not %q.", what, root)
			return nil, false
		}
	}
	ctx.Variables["lookup"] = cty.ObjectVal(lookups)
	return ctx, true
}

// noSecret returns a function that refuses secrets.
func noSecret() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.NilVal, errors.New("for_each cannot use secrets, because each reader of the fleet can see the names " +
				"of targets, modules and scopes; use the secret in vars")
		},
	})
}

// outsideModules is a tree without the files that are not the same on each host: modules/, and files that hubs write.
type outsideModules struct{ repo.Tree }

func (t outsideModules) check(p string) error {
	switch {
	case p == "modules" || strings.HasPrefix(p, "modules/"):
		return fmt.Errorf("cannot use %s: for_each of targets, modules and scopes cannot read files of modules, "+
			"because each host has only its own modules; move the file out of modules/", p)
	case p == exported.File || strings.HasPrefix(p, "enrolled") && strings.HasSuffix(p, ".fettle.json"):
		return fmt.Errorf("cannot use %s: for_each of targets, modules and scopes cannot read files that hubs write", p)
	}
	return nil
}

// ReadFile returns the content of a file.
func (t outsideModules) ReadFile(p string) ([]byte, error) {
	if err := t.check(p); err != nil {
		return nil, err
	}
	return t.Tree.ReadFile(p)
}

// Digest returns the digest and size of a file.
func (t outsideModules) Digest(p string) (string, int64, error) {
	if err := t.check(p); err != nil {
		return "", 0, err
	}
	return t.Tree.Digest(p)
}

// Stat describes a file. A file of a module is an error, also if it does not exist.
func (t outsideModules) Stat(p string) (repo.Entry, error) {
	if err := t.check(p); err != nil {
		return repo.Entry{}, err
	}
	return t.Tree.Stat(p)
}

// ReadDir lists a directory, without files that are refused.
func (t outsideModules) ReadDir(p string) ([]repo.Entry, error) {
	if err := t.check(p); err != nil {
		return nil, err
	}
	list, err := t.Tree.ReadDir(p)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(list), func(e repo.Entry) bool {
		return t.check(e.Path) != nil
	}), nil
}
