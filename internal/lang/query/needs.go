package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Use is one module of a target.
type Use struct {
	Name      string
	Directory string
	Version   string            // that it declares, or "" for none
	From      []source.Given    // the levels that assign it, low to high
	Needs     []Need            // by name
	Exported  []source.Exported // its declared inputs from other targets, by name
	Element   *Element          // of the for_each that made it, nil for other modules
}

// Need is a module that must be ready before another module of the same target.
type Need struct {
	Name, Directory string
	Level           string // one of NeedLevels
	Version         string // the constraint on its version, or "" for none
	// Layer is set if a level imposed the need; By is then that level.
	Layer bool
	By    string
	Range diag.Range
}

// resolver finds the needs of the modules of one target.
type resolver struct {
	*syntax.Reports
	prog  *source.Program
	uses  []*source.ModuleUse
	own   map[*source.ModuleUse][]ResolvedNeed
	waits waiting
	alone bool // a module is tested without others
}

// ResolvedNeed is a need with its module.
type ResolvedNeed struct {
	Need
	Use *source.ModuleUse
}

// NeedsOf returns the needs of each module of a target: its own needs, and the needs that the
// layers of the target's levels impose. Missing modules and cycles are reported.
func NeedsOf(p *source.Program, r *syntax.Reports, levels []*source.Level, uses []*source.ModuleUse,
	alone bool) map[*source.ModuleUse][]ResolvedNeed {
	x := &resolver{Reports: r, prog: p, uses: uses, waits: waitingFor(p, &syntax.Reports{}, levels),
		own: map[*source.ModuleUse][]ResolvedNeed{}, alone: alone}
	for _, u := range uses {
		x.ownNeeds(u)
	}
	if x.circle() {
		return nil
	}
	layers := x.layers(append([]*source.Level{&p.Top}, levels...))
	out := x.own
	heights := x.heights(layers)
	for i, u := range uses {
		for j, l := range layers {
			if j < heights[i] {
				out[u] = addNeed(out[u], l)
			}
		}
		slices.SortStableFunc(out[u], func(a, b ResolvedNeed) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// addNeed adds a need that a layer imposes. If the module already has that need, the higher level
// counts.
func addNeed(list []ResolvedNeed, layer ResolvedNeed) []ResolvedNeed {
	for i, n := range list {
		if n.Use == layer.Use {
			if slices.Index(source.NeedLevels(), n.Level) < slices.Index(source.NeedLevels(), layer.Level) {
				list[i].Level = layer.Level
			}
			return list
		}
	}
	return append(list, layer)
}

// called resolves a name to the use with that name. If there is none, it returns all uses of the
// directory modules/NAME, and all uses that the block of that label made.
func (x *resolver) called(name string) []*source.ModuleUse {
	var byDirectory []*source.ModuleUse
	for _, u := range x.uses {
		if u.Name == name {
			return []*source.ModuleUse{u}
		}
		if u.Directory == "modules/"+name || u.Called(name) {
			byDirectory = append(byDirectory, u)
		}
	}
	return byDirectory
}

func (x *resolver) names() []string {
	var out []string
	for _, u := range x.uses {
		out = append(out, u.Name)
	}
	return out
}

func (x *resolver) ownNeeds(u *source.ModuleUse) {
	b, _ := x.prog.Module(u.Directory)
	for _, n := range b.Needs {
		found := x.called(n.Name)
		if len(found) == 0 && !x.alone && !x.waits.names[n.Name] {
			others := slices.DeleteFunc(x.names(), func(s string) bool { return s == u.Name })
			x.Errorf(n.Range, "Needed module is missing",
				"The module %s needs %q, but a target has only the first module.%s Give the target both modules, "+
					"or remove the needs block.", u.Name, n.Name, syntax.Suggest(n.Name, others))
		}
		for _, f := range found {
			fulfilled(x.prog, x.Reports, u, f, n.Version, n.VersionRange)
			x.own[u] = append(x.own[u], ResolvedNeed{Need{Name: f.Name, Directory: f.Directory, Level: n.Level,
				Version: n.Version, By: "module " + u.Name, Range: n.Range}, f})
		}
	}
}

// circle reports a cycle of needs once, with all its modules.
func (x *resolver) circle() bool {
	const open, done = 1, 2
	state := map[*source.ModuleUse]int{}
	var way []ResolvedNeed // each with the need that led to it
	var walk func(n ResolvedNeed) bool
	walk = func(n ResolvedNeed) bool {
		if state[n.Use] == done {
			return false
		}
		if way = append(way, n); state[n.Use] == open {
			return true
		}
		state[n.Use] = open
		for _, next := range x.own[n.Use] {
			if walk(next) {
				return true
			}
		}
		state[n.Use] = done
		way = way[:len(way)-1]
		return false
	}
	for _, u := range x.uses {
		if !walk(ResolvedNeed{Use: u}) {
			continue
		}
		last := way[len(way)-1]
		first := slices.IndexFunc(way, func(n ResolvedNeed) bool { return n.Use == last.Use })
		x.report(way[first:])
		return true
	}
	return false
}

// report reports a cycle: a path of needs whose last module is its first.
func (x *resolver) report(way []ResolvedNeed) {
	hops := []string{way[0].Use.Name}
	for _, n := range way[1:] {
		hops = append(hops, fmt.Sprintf("%s (at %s)", n.Use.Name, n.Range))
	}
	d := diag.Errorf(way[1].Range, "Modules need each other",
		"Each of these modules needs the next one: %s. Remove one of the needs blocks.", strings.Join(hops, " → "))
	for _, n := range way[2:] {
		d.Trace = append(d.Trace, n.Range)
	}
	x.Add(d)
}

// layers returns the modules that other modules must need, each once, from low to high, in the
// order of the levels.
func (x *resolver) layers(levels []*source.Level) []ResolvedNeed {
	var out []ResolvedNeed
	for _, l := range levels {
		if l.Layer == nil || len(x.uses) == 0 || x.alone {
			continue
		}
		for _, n := range x.prog.EarlyNames(x.Reports, l, l.Layer) {
			rng, found := n.Range, x.called(n.Text)
			if len(found) == 0 && !x.waits.names[n.Text] {
				x.Errorf(rng, "Layer module is missing",
					"Because of layer, all modules need %q, but a target does not have it.%s Add it to the target, "+
						"or set layer for a target_group of the targets with it.", n.Text, syntax.Suggest(n.Text, x.names()))
			}
			for _, f := range found {
				if !slices.ContainsFunc(out, func(o ResolvedNeed) bool { return o.Use == f }) {
					out = append(out, ResolvedNeed{Need{Name: f.Name, Directory: f.Directory, Level: source.UsualLevel, Layer: true,
						By: l.String(), Range: rng}, f})
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
func (x *resolver) heights(layers []ResolvedNeed) []int {
	at := map[*source.ModuleUse]int{}
	var sink func(u *source.ModuleUse, height int)
	sink = func(u *source.ModuleUse, height int) {
		if old, ok := at[u]; ok && old <= height {
			return
		}
		at[u] = height
		for _, n := range x.own[u] {
			sink(n.Use, height)
		}
	}
	for i, l := range layers {
		sink(l.Use, i)
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
func usedBy(p *source.Program, r *syntax.Reports, levels []*source.Level, shared map[string]*used) *used {
	key, alike := belowOf(levels)
	if u := shared[key]; u != nil && alike {
		return u
	}
	defer p.Aside()()
	out, wrong := &used{}, &syntax.Reports{}
	uses := TargetModules(p, r, levels)
	for _, u := range uses {
		_, ds := p.Module(u.Directory)
		wrong.Add(ds...)
	}
	needs := NeedsOf(p, wrong, levels, uses, false)
	for _, u := range uses {
		body, _ := p.Module(u.Directory)
		x := Use{Name: u.Name, Directory: u.Directory, Version: body.Version, From: u.From,
			Element: elementOf(u.Each)}
		for _, n := range needs[u] {
			x.Needs = append(x.Needs, n.Need)
		}
		x.Exported = ExportedOf(p, wrong, u.Directory)
		out.uses = append(out.uses, x)
	}
	out.errors = errorsOf(p, wrong.List)
	if alike {
		shared[key] = out
	}
	return out
}

// errorsOf returns the errors in a list as text for users, sorted.
func errorsOf(p *source.Program, ds diag.List) []string {
	texts := map[string]bool{}
	for _, d := range p.Secrets.Masked(ds) {
		if d.Severity == diag.Error {
			texts[d.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(texts))
}

// belowOf names the levels below a target. alike is set if targets with the same levels have the
// same modules with the same needs.
func belowOf(levels []*source.Level) (key string, alike bool) {
	var b strings.Builder
	for _, l := range levels[:len(levels)-1] {
		b.WriteString(l.Kind)
		b.WriteString(l.Name)
		b.WriteByte(0)
	}
	own := levels[len(levels)-1]
	return b.String(), own.Modules == nil && own.Layer == nil && own.Waits == nil && len(own.Uses) == 0
}
