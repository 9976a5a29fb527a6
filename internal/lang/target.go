package lang

import (
	"maps"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// LocalTarget is the target of a repository that declares none.
const LocalTarget = "local"

// target is a target block.
type target struct {
	level
	labels   *hclsyntax.Attribute
	enrolled *enrolled // nil if it is not enrolled
	placed   placed
}

// placed caches the evaluated labels and levels if they have no errors.
type placed struct {
	labels map[string]string
	levels []*level
}

// moduleUse is one module of a target.
type moduleUse struct {
	name string
	rng  diag.Range
	dir  string
	vars map[string]*hclsyntax.Attribute // of the module blocks, by level
	from []Given
}

// Target is the description of a target that needs no facts.
type Target struct {
	Name    string
	Labels  map[string]string
	Roles   []string // each after the roles it includes
	Groups  []string // target groups, in the order of their declaration
	Modules []string // directories in the repository
	// Uses are the modules with their origins and needs. Targets with the same uses can share the
	// slices, which are read-only. They are not stored as JSON, which shares nothing.
	Uses []Use `json:"-"`
	// Mistakes are the errors in the modules and in their needs, as text for users. Compiling the
	// target reports them with their places.
	Errors []string
	// Enrolled is set if an enrolled block names it, Declared if a target block does.
	Enrolled, Declared bool
	SSH                *SSH // ssh settings; nil: it is the local host
	Range              diag.Range
}

func (ps *parser) target(b *hclsyntax.Block) {
	l, ok := ps.level(b, "labels")
	if !ok {
		return
	}
	for _, old := range ps.prog.targets {
		if old.name == l.name {
			ps.errorf(l.rng, "Target declared twice", "The target %q is already declared at %s. Rename or remove one of the two.", l.name, old.rng)
			return
		}
	}
	ps.prog.targets = append(ps.prog.targets, &target{level: l, labels: b.Body.Attributes["labels"]})
}

// Targets returns the targets in the order of declaration, or the implicit target if the repository
// declares none. The list is nil if a target has an error.
func (p *Program) Targets() ([]Target, diag.List) {
	r := &reports{}
	w := p.ways(r)
	if len(p.targets) == 0 {
		w.nowhere()
	}
	out, shared := []Target{}, map[string]*used{}
	for _, t := range p.targets {
		x := Target{Name: t.name, Range: t.rng, Labels: p.targetLabels(r, t), Enrolled: t.enrolled != nil, Declared: t.enrolled == nil || t.enrolled.declared}
		levels := p.levelsBy(r, t, x.Labels)
		for _, l := range levels {
			switch l.what {
			case "role":
				x.Roles = append(x.Roles, l.name)
			case "target_group":
				x.Groups = append(x.Groups, l.name)
			}
		}
		u := p.usedBy(r, levels, shared)
		x.Modules, x.Uses, x.Errors = u.directories(), u.uses, u.errors
		x.SSH = w.of(x, levels)
		out = append(out, x)
	}
	switch {
	case r.list.HasErrors():
		out = nil
	case len(out) == 0:
		out = append(out, Target{Name: LocalTarget, Labels: map[string]string{}})
	}
	return out, finish(p, r.list)
}

// belowOf names the levels below a target. alike is set if targets with the same levels have the
// same modules with the same needs.
func belowOf(levels []*level) (key string, alike bool) {
	var b strings.Builder
	for _, l := range levels[:len(levels)-1] {
		b.WriteString(l.what)
		b.WriteString(l.name)
		b.WriteByte(0)
	}
	own := levels[len(levels)-1]
	return b.String(), own.modules == nil && own.layer == nil && own.waits == nil && len(own.uses) == 0
}

// choose returns the named target, or the only one if the name is "".
func (p *Program) choose(name string) (*target, diag.List) {
	switch {
	case len(p.targets) == 0 && (name == "" || name == LocalTarget):
		return &target{level: level{what: "target", name: LocalTarget}}, nil
	case len(p.targets) == 1 && name == "":
		return p.targets[0], nil
	}
	var names []string
	for _, t := range p.targets {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	if name == "" {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Target needed",
			"The repository declares several targets. Select one with -t: %s.", strings.Join(names, ", "))}
	}
	if len(names) == 0 {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown target", "The repository declares no targets, so the only one is %q. Declare target %q { … } in fettle.hcl.", LocalTarget, name)}
	}
	return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown target", "The repository declares no target %q.%s", name, Suggest(name, names))}
}

// targetLabels returns the labels of a target. They are read-only.
func (p *Program) targetLabels(r *reports, t *target) map[string]string {
	if t.placed.labels != nil {
		return t.placed.labels
	}
	own := &reports{}
	out := p.evalLabels(own, t)
	if r.add(own.list...); len(own.list) == 0 {
		t.placed.labels = out
	}
	return out
}

// evalLabels evaluates labels, whose values can use functions. Labels of the repository override
// labels of the enrolment.
func (p *Program) evalLabels(r *reports, t *target) map[string]string {
	out := map[string]string{}
	if t.enrolled != nil {
		p.addLabels(r, t.enrolled.labels, out)
	}
	p.addLabels(r, t.labels, out)
	return out
}

func (p *Program) addLabels(r *reports, a *hclsyntax.Attribute, out map[string]string) {
	if a == nil {
		return
	}
	v, ok := p.early(r, a.Expr, cty.Map(cty.String))
	if !ok {
		return
	}
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			r.errorf(rangeOf(a.Expr.Range()), "Label without a value", "The label %q is null. Set it to a string.", k)
			continue
		}
		out[k] = e.AsString()
	}
}

// early evaluates an expression before any target or fact is known.
func (p *Program) early(r *reports, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	v, hds := e.Value(p.pure)
	r.add(fromHCL(hds)...)
	if hds.HasErrors() {
		return cty.NilVal, false
	}
	v, err := convert.Convert(v, want)
	if err != nil || v.IsNull() || !v.IsWhollyKnown() {
		r.errorf(rangeOf(e.Range()), "Wrong type", "This must be %s.", diag.One(want.FriendlyName()))
		return cty.NilVal, false
	}
	return v, true
}

// targetModules returns the modules of a target, level by level: first the modules of each list,
// then of its blocks. A module that several levels name occurs once, with the variables of all its
// blocks.
func (p *Program) targetModules(r *reports, levels []*level) []*moduleUse {
	var uses []*moduleUse
	seen, waits := map[string]*moduleUse{}, p.waitingFor(r, levels)
	for _, l := range levels {
		here := map[string]bool{}
		for _, u := range p.levelModules(r, l) {
			old := seen[u.name]
			switch {
			case waits.dirs[u.dir]:
			case !p.checkModule(r, u):
			case old == nil:
				seen[u.name] = u
				uses = append(uses, u)
			case here[u.name] || old.dir != u.dir:
				r.errorf(u.rng, "Module twice",
					`The target already has the module %q. For a second instance, write a block with a different name: `+
						`module "NAME" { source = %q }.`, u.name, u.dir)
			default:
				maps.Copy(old.vars, u.vars)
				old.from = append(old.from, u.from...)
			}
			here[u.name] = true
		}
	}
	return uses
}

// levelModules returns the modules that one level names.
func (p *Program) levelModules(r *reports, l *level) []*moduleUse {
	var uses []*moduleUse
	if l.modules != nil {
		exprs, hds := hcl.ExprList(l.modules.Expr)
		r.add(fromHCL(hds)...)
		for _, e := range exprs {
			v, ok := p.early(r, e.(hclsyntax.Expression), cty.String)
			if ok {
				uses = append(uses, &moduleUse{name: v.AsString(), dir: path.Join("modules", v.AsString()), rng: rangeOf(e.Range()), vars: map[string]*hclsyntax.Attribute{}, from: []Given{{l.String(), rangeOf(e.Range())}}})
			}
		}
	}
	for _, u := range l.uses { // a copy, because several targets share roles
		own := *u
		own.vars, own.from = maps.Clone(u.vars), []Given{{l.String(), u.rng}}
		if own.vars == nil {
			own.vars = map[string]*hclsyntax.Attribute{}
		}
		uses = append(uses, &own)
	}
	return uses
}

// checkModule reports whether the directory of a module exists.
func (p *Program) checkModule(r *reports, u *moduleUse) bool {
	if strings.Contains(u.dir, ":/") || strings.Contains(u.dir, "::") || strings.HasPrefix(u.dir, "git@") {
		r.errorf(u.rng, "Module from another repository",
			"fettle reads modules only from directories of this repository, so that all hosts compile the same files. "+
				"Copy the module into the repository with: fettle module add %s %s — and remove source.", u.name, strings.TrimPrefix(u.dir, "git::"))
		return false
	}
	if u.dir != path.Clean(u.dir) || path.IsAbs(u.dir) || u.dir == "." || u.dir == ".." || strings.HasPrefix(u.dir, "../") || strings.ContainsRune(u.dir, 0) {
		r.errorf(u.rng, "Bad module path",
			"%q is not a directory of the repository. Write a path from the top of the repository, such as modules/web.", u.dir)
		return false
	}
	if e, err := p.tree.Stat(u.dir); err == nil && e.Type == repo.Dir {
		return true
	}
	var names []string
	list, _ := p.tree.ReadDir(path.Dir(u.dir))
	for _, e := range list {
		if e.Type == repo.Dir {
			names = append(names, path.Base(e.Path))
		}
	}
	r.errorf(u.rng, "Unknown module", "There is no directory %s in the repository.%s", u.dir, Suggest(path.Base(u.dir), names))
	return false
}
