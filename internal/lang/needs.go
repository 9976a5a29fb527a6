package lang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// Use is one module of a target.
type Use struct {
	Name      string
	Directory string
	From      []Given    // the levels that assign it, low to high
	Needs     []Need     // by name
	Exported  []Exported // its declared inputs from other targets, by name
}

// Given is a level that names a module.
type Given struct {
	By    string // "role web", "target group prod", "target"
	Range diag.Range
}

// Need is a module that must be ready before another module of the same target.
type Need struct {
	Name, Directory string
	Level           string // one of NeedLevels
	// Layer is set if a level imposed the need; By is then that level.
	Layer bool
	By    string
	Range diag.Range
}

// NeedLevels returns the possible requirements for a needed module, rising.
func NeedLevels() []string { return []string{"completion", "availability", "version"} }

const usualLevel = "availability"

// need is a needs block.
type need struct {
	name, level string
	rng         diag.Range
}

func (ps *parser) needs(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"level", "description"}, nil)
	n := &need{name: name, level: usualLevel, rng: r}
	if a := b.Body.Attributes["level"]; a != nil {
		switch level := ps.text(a.Expr, "level"); {
		case contains(NeedLevels(), level):
			n.level = level
		case level != "":
			ps.errorf(rangeOf(a.Expr.Range()), "Unknown level",
				"level must be completion, availability or version, and this is %q.%s", level, Suggest(level, NeedLevels()))
		}
	}
	for _, old := range ps.body.needs {
		if old.name == name {
			ps.errorf(r, "Module needed twice", "At %s there is already a needs block for %q. Remove one of the two.", old.rng, name)
			return
		}
	}
	ps.body.needs = append(ps.body.needs, n)
}

// resolver finds the needs of the modules of one target.
type resolver struct {
	*reports
	prog  *Program
	uses  []*moduleUse
	own   map[*moduleUse][]resolved
	waits waiting
	alone bool // a module is tested without others
}

// resolved is a need with its module.
type resolved struct {
	Need
	use *moduleUse
}

// needsOf returns the needs of each module of a target: its own needs, and the needs that the
// layers of the target's levels impose. Missing modules and cycles are reported.
func (p *Program) needsOf(r *reports, levels []*level, uses []*moduleUse, alone bool) map[*moduleUse][]resolved {
	x := &resolver{reports: r, prog: p, uses: uses, waits: p.waitingFor(&reports{}, levels), own: map[*moduleUse][]resolved{}, alone: alone}
	for _, u := range uses {
		x.ownNeeds(u)
	}
	if x.circle() {
		return nil
	}
	layers := x.layers(append([]*level{&p.top}, levels...))
	out := x.own
	heights := x.heights(layers)
	for i, u := range uses {
		for j, l := range layers {
			if j < heights[i] {
				out[u] = addNeed(out[u], l)
			}
		}
		slices.SortStableFunc(out[u], func(a, b resolved) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// addNeed adds a need that a layer imposes. If the module already has that need, the higher level
// counts.
func addNeed(list []resolved, layer resolved) []resolved {
	for i, n := range list {
		if n.use == layer.use {
			if slices.Index(NeedLevels(), n.Level) < slices.Index(NeedLevels(), layer.Level) {
				list[i].Level = layer.Level
			}
			return list
		}
	}
	return append(list, layer)
}

// called resolves a name to the use with that name. If there is none, it returns all uses of the
// directory modules/NAME.
func (x *resolver) called(name string) []*moduleUse {
	var byDirectory []*moduleUse
	for _, u := range x.uses {
		if u.name == name {
			return []*moduleUse{u}
		}
		if u.dir == "modules/"+name {
			byDirectory = append(byDirectory, u)
		}
	}
	return byDirectory
}

func (x *resolver) names() []string {
	var out []string
	for _, u := range x.uses {
		out = append(out, u.name)
	}
	return out
}

func (x *resolver) ownNeeds(u *moduleUse) {
	b, _ := x.prog.module(u.dir)
	for _, n := range b.needs {
		found := x.called(n.name)
		if len(found) == 0 && !x.alone && !x.waits.names[n.name] {
			others := slices.DeleteFunc(x.names(), func(s string) bool { return s == u.name })
			x.errorf(n.rng, "Needed module is missing",
				"The module %s needs %q, but a target has only the first module.%s Give the target both modules, "+
					"or remove the needs block.", u.name, n.name, Suggest(n.name, others))
		}
		for _, f := range found {
			x.own[u] = append(x.own[u], resolved{Need{Name: f.name, Directory: f.dir, Level: n.level, By: "module " + u.name, Range: n.rng}, f})
		}
	}
}

// circle reports a cycle of needs once, with all its modules.
func (x *resolver) circle() bool {
	const open, done = 1, 2
	state := map[*moduleUse]int{}
	var way []resolved // each with the need that led to it
	var walk func(n resolved) bool
	walk = func(n resolved) bool {
		if state[n.use] == done {
			return false
		}
		if way = append(way, n); state[n.use] == open {
			return true
		}
		state[n.use] = open
		for _, next := range x.own[n.use] {
			if walk(next) {
				return true
			}
		}
		state[n.use] = done
		way = way[:len(way)-1]
		return false
	}
	for _, u := range x.uses {
		if !walk(resolved{use: u}) {
			continue
		}
		last := way[len(way)-1]
		first := slices.IndexFunc(way, func(n resolved) bool { return n.use == last.use })
		x.report(way[first:])
		return true
	}
	return false
}

// report reports a cycle: a path of needs whose last module is its first.
func (x *resolver) report(way []resolved) {
	hops := []string{way[0].use.name}
	for _, n := range way[1:] {
		hops = append(hops, fmt.Sprintf("%s (at %s)", n.use.name, n.Range))
	}
	d := diag.Errorf(way[1].Range, "Modules need each other",
		"Each of these modules needs the next one: %s. Remove one of the needs blocks.", strings.Join(hops, " → "))
	for _, n := range way[2:] {
		d.Trace = append(d.Trace, n.Range)
	}
	x.add(d)
}

// layers returns the modules that other modules must need, each once, from low to high, in the
// order of the levels.
func (x *resolver) layers(levels []*level) []resolved {
	var out []resolved
	for _, l := range levels {
		if l.layer == nil || len(x.uses) == 0 || x.alone {
			continue
		}
		exprs, hds := hcl.ExprList(l.layer.Expr)
		x.add(fromHCL(hds)...)
		for _, e := range exprs {
			v, ok := x.prog.early(x.reports, e.(hclsyntax.Expression), cty.String)
			if !ok {
				continue
			}
			rng := rangeOf(e.Range())
			found := x.called(v.AsString())
			if len(found) == 0 && !x.waits.names[v.AsString()] {
				x.errorf(rng, "Layer module is missing",
					"Because of layer, all modules need %q, but a target does not have it.%s Add it to the target, "+
						"or set layer for a target_group of the targets with it.", v.AsString(), Suggest(v.AsString(), x.names()))
			}
			for _, f := range found {
				if !slices.ContainsFunc(out, func(o resolved) bool { return o.use == f }) {
					out = append(out, resolved{Need{Name: f.name, Directory: f.dir, Level: usualLevel, Layer: true, By: l.String(), Range: rng}, f})
				}
			}
		}
	}
	return out
}

// heights returns the height of each module: the number of layers below it. A layer needs the
// layers before it. Modules that a layer needs itself are below that layer. All other modules are
// above all layers. Along the modules' own needs heights do not rise, and along the needs that
// layers impose they fall. Layers therefore add no cycle.
func (x *resolver) heights(layers []resolved) []int {
	at := map[*moduleUse]int{}
	var sink func(u *moduleUse, height int)
	sink = func(u *moduleUse, height int) {
		if old, ok := at[u]; ok && old <= height {
			return
		}
		at[u] = height
		for _, n := range x.own[u] {
			sink(n.use, height)
		}
	}
	for i, l := range layers {
		sink(l.use, i)
	}
	out := make([]int, len(x.uses))
	for i, u := range x.uses {
		out[i] = len(layers)
		if h, ok := at[u]; ok {
			out[i] = h
		}
	}
	return out
}

// orderModules orders each module after all of the modules that it needs.
func (ev *evaluator) orderModules() {
	for _, u := range ev.uses {
		for _, n := range ev.needsOf[u] {
			s, other := ev.modules[u.name], ev.modules[n.use.name]
			if s == nil || other == nil || !s.assigned || !other.assigned {
				continue
			}
			why := "need"
			if n.Layer {
				why = "layer"
			}
			ev.edges = append(ev.edges, pendingEdge{node: s.node, other: ref{scope: other, rng: n.Range}, after: true, why: why})
		}
	}
}

// alone reports whether a test is about a module without a target.
func alone(t *Test) bool { return t != nil && t.target == nil }

// used has the modules of a target, with the errors in their list. Targets with the same levels
// share it.
type used struct {
	uses   []Use
	errors []string
}

func (u *used) directories() []string {
	var out []string
	for _, x := range u.uses {
		out = append(out, x.Directory)
	}
	return out
}

// usedBy returns the modules of a target, with their needs. Errors in the list are reported. Errors
// in a module or in its needs concern the targets that have the module, and are added to their
// Errors.
func (p *Program) usedBy(r *reports, levels []*level, shared map[string]*used) *used {
	key, alike := belowOf(levels)
	if u := shared[key]; u != nil && alike {
		return u
	}
	defer func(used map[string]bool) { p.used = used }(p.used) // these results do not become part of a target
	p.used = map[string]bool{}
	out, wrong := &used{}, &reports{}
	uses := p.targetModules(r, levels)
	for _, u := range uses {
		_, ds := p.module(u.dir)
		wrong.add(ds...)
	}
	needs := p.needsOf(wrong, levels, uses, false)
	for _, u := range uses {
		x := Use{Name: u.name, Directory: u.dir, From: u.from}
		for _, n := range needs[u] {
			x.Needs = append(x.Needs, n.Need)
		}
		x.Exported = p.exportedOf(wrong, u.dir)
		out.uses = append(out.uses, x)
	}
	texts := map[string]bool{}
	for _, d := range p.secrets.masked(wrong.list) {
		if d.Severity == diag.Error {
			texts[d.String()] = true
		}
	}
	out.errors = slices.Sorted(maps.Keys(texts))
	if alike {
		shared[key] = out
	}
	return out
}
