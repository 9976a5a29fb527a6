package lang

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// level is a role, a target group or a target: a source of modules and variables for a target. The
// top of the repository is also a level, without modules.
type level struct {
	what, name            string
	rng                   diag.Range
	roles, modules, layer *hclsyntax.Attribute
	vars, data, merge     *hclsyntax.Attribute
	waits                 *hclsyntax.Attribute // of an enrolled target
	uses                  []*moduleUse
	policy, ssh           *hclsyntax.Block
}

// String returns the name of the level in messages and in fettle explain.
func (l *level) String() string {
	switch l.what {
	case "target", "repository":
		return l.what
	}
	return strings.ReplaceAll(l.what, "_", " ") + " " + l.name
}

// levelAttrs are the attributes that roles, target groups and targets share.
func levelAttrs(more ...string) []string {
	return append([]string{"roles", "modules", "layer", "vars", "data", "merge", "description"}, more...)
}

// level reads the content that all levels have in common. attrs are the additional attributes of
// this level.
func (ps *parser) level(b *hclsyntax.Block, attrs ...string) (level, bool) {
	name, r, ok := ps.label(b)
	if !ok {
		return level{}, false
	}
	blocks := []string{"module"}
	if b.Type != "role" {
		blocks = append(blocks, "policy", "ssh")
	}
	ps.only(b, levelAttrs(attrs...), blocks)
	at := b.Body.Attributes
	l := level{what: b.Type, name: name, rng: r, roles: at["roles"], modules: at["modules"], layer: at["layer"], vars: at["vars"], data: at["data"], merge: at["merge"]}
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "module":
			ps.moduleUse(&l, sub)
		case "policy":
			ps.policyBlock(sub, &l.policy)
		case "ssh":
			ps.sshBlock(sub, &l.ssh)
		}
	}
	return l, true
}

func (ps *parser) moduleUse(l *level, b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"source", "vars"}, nil)
	u := &moduleUse{name: name, rng: r, dir: path.Join("modules", name)}
	if a := b.Body.Attributes["vars"]; a != nil {
		u.vars = map[string]*hclsyntax.Attribute{l.String(): a}
	}
	if a := b.Body.Attributes["source"]; a != nil {
		u.dir, u.rng = ps.text(a.Expr, "source"), rangeOf(a.Expr.Range())
	}
	l.uses = append(l.uses, u)
}

// role reads a role: modules and variables that targets share.
func (ps *parser) role(b *hclsyntax.Block) {
	l, ok := ps.level(b)
	if !ok {
		return
	}
	if old := ps.prog.roles[l.name]; old != nil {
		ps.errorf(l.rng, "Role declared twice", "The role %q is already declared at %s. Rename or remove one of the two.", l.name, old.rng)
		return
	}
	ps.prog.roles[l.name] = &l
}

// levels returns the levels of a target, from low to high: the roles of its groups and its own
// roles, each after the roles it names; its groups in the order of their declaration; and the
// target itself. The levels are read-only.
func (p *Program) levels(r *reports, t *target) []*level {
	return p.levelsBy(r, t, p.targetLabels(r, t))
}

// levelsBy is levels with the labels of the target.
func (p *Program) levelsBy(r *reports, t *target, labels map[string]string) []*level {
	if t.placed.levels != nil {
		return t.placed.levels
	}
	own := &reports{}
	out := slices.Clip(p.findLevels(own, t, labels))
	if r.add(own.list...); len(own.list) == 0 && t.placed.labels != nil {
		t.placed.levels = out
	}
	return out
}

func (p *Program) findLevels(r *reports, t *target, labels map[string]string) []*level {
	var own []*level
	for _, g := range p.groups {
		if g.matches(t, labels) {
			own = append(own, &g.level)
		}
	}
	own = append(own, &t.level)
	w := roleWalk{prog: p, reports: r, done: map[string]bool{}}
	for _, l := range own {
		w.named(l)
	}
	return append(w.out, own...)
}

// roleWalk collects roles, each once.
type roleWalk struct {
	prog *Program
	*reports
	done map[string]bool
	way  []string
	out  []*level
}

// named adds the roles that a level names.
func (w *roleWalk) named(l *level) {
	if l.roles == nil {
		return
	}
	exprs, hds := hcl.ExprList(l.roles.Expr)
	w.add(fromHCL(hds)...)
	for _, e := range exprs {
		if v, ok := w.prog.early(w.reports, e.(hclsyntax.Expression), cty.String); ok {
			w.role(v.AsString(), rangeOf(e.Range()))
		}
	}
}

func (w *roleWalk) role(name string, rng diag.Range) {
	l := w.prog.roles[name]
	if l == nil {
		w.errorf(rng, "Unknown role", "The repository declares no role %q.%s", name, Suggest(name, keysOf(w.prog.roles)))
		return
	}
	for i, on := range w.way {
		if on == name {
			w.errorf(rng, "Cyclic roles",
				"The role %q contains itself: %s. "+
					"Remove one of these roles from the roles of another.", name, strings.Join(append(w.way[i:len(w.way):len(w.way)], name), " → "))
			return
		}
	}
	if w.done[name] {
		return
	}
	w.done[name] = true
	w.way = append(w.way, name)
	w.named(l)
	w.way = w.way[:len(w.way)-1]
	w.out = append(w.out, l)
}
