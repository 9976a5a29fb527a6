package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/repo"
)

// given has the exported values of the tree, read once. known reports whether the file with the
// values exists.
type given struct {
	done, known bool
	tables      []exported.Table
	ds          diag.List
}

func (p *Program) givenTables() *given {
	g := &p.given
	if g.done {
		return g
	}
	g.done = true
	at := diag.Range{File: exported.File}
	text, err := p.tree.ReadFile(exported.File)
	if errors.Is(err, fs.ErrNotExist) {
		return g
	}
	if err == nil {
		g.tables, err = exported.Parse(text)
	}
	if err != nil {
		g.tables, g.ds = nil, diag.List{diag.Errorf(at, "Bad file of exported values",
			"%s Hubs and agents write this file. To write it yourself, run: fettle export list --snapshot.", sentence(err))}
	}
	g.known = true
	return g
}

func (g *given) table(e *Exported) *exported.Table {
	for i, t := range g.tables {
		if t.Module == e.Module && t.Output == e.Output {
			return &g.tables[i]
		}
	}
	return nil
}

// typeOfExported returns the type of the input's values. ok is false after a diagnostic. If the
// module is missing in this part of the repository, the recorded values give the type.
func (p *Program) typeOfExported(r *reports, e *Exported) (cty.Type, bool) {
	if dir, err := p.tree.Stat(e.Module); err != nil || dir.Type != repo.Dir {
		if t := p.givenTables().table(e); t != nil {
			typ, err := exported.TypeOf(t.Type)
			if err == nil {
				return typ, true
			}
		}
		r.errorf(e.Range, "Unknown module",
			"The repository has no directory %s, "+
				"so no target exports its output %q.%s", e.Module, e.Output, Suggest(path.Base(e.Module), p.moduleNames()))
		return cty.NilType, false
	}
	defer func(used map[string]bool) { p.used = used }(p.used) // this result does not become part of a target
	p.used = map[string]bool{}
	b, _ := p.module(e.Module)
	switch o := b.outputs[e.Output]; {
	case o == nil:
		r.errorf(e.Range, "Unknown output", "The module in %s has no output %q.%s", e.Module, e.Output, Suggest(e.Output, keysOf(b.outputs)))
	case !o.exported:
		r.errorf(e.Range, "Output is not exported",
			"The output %q of %s (at %s) is not exported. Write into that output block: exported = true.", e.Output, e.Module, o.rng)
	default:
		return o.typ, true
	}
	return cty.NilType, false
}

func (p *Program) moduleNames() []string {
	var names []string
	list, _ := p.tree.ReadDir("modules")
	for _, e := range list {
		if e.Type == repo.Dir {
			names = append(names, path.Base(e.Path))
		}
	}
	return names
}

// exportedOf returns the exported inputs of a module, sorted by name. Errors in them are reported.
func (p *Program) exportedOf(r *reports, dir string) []Exported {
	var out []Exported
	b, _ := p.module(dir)
	for _, name := range sortedKeys(b.exported) {
		e := *b.exported[name]
		if typ, ok := p.typeOfExported(r, &e); ok && typ != cty.NilType && !typ.HasDynamicTypes() {
			e.Type = exported.TypeText(typ)
		}
		out = append(out, e)
	}
	return out
}

// exportedRef puts exported.NAME into the tree.
func (ev *evaluator) exportedRef(s *scope, t hcl.Traversal, tree *names) bool {
	m := s.module()
	name, ok := stepName(t, 1)
	e := m.body.exported[name]
	if !ok || e == nil {
		ev.errorf(rangeOf(t.SourceRange()), "Exported block is not declared",
			`Values of other targets are inputs: declare them in the module that uses them.%s Write: `+
				`exported %q { module = "web" }.`, Suggest(name, keysOf(m.body.exported)), name)
		return false
	}
	if ev.trail != nil {
		ev.trail.broken = true // the values can differ between targets
	}
	memo := ev.exported[e]
	if memo == nil {
		memo = &exportedMemo{}
		memo.val, memo.ok = ev.exportedValue(m, e)
		ev.exported[e] = memo
	}
	if memo.ok {
		tree.set([]string{"exported", name}, memo.val)
	}
	return memo.ok
}

// exportedMemo is the evaluated value of a declared input.
type exportedMemo struct {
	val cty.Value
	ok  bool
}

// exportedValue returns the values by target. The map is unknown while too few targets have
// reported.
func (ev *evaluator) exportedValue(m *scope, e *Exported) (cty.Value, bool) {
	typ, ok := ev.prog.typeOfExported(&reports{}, e) // errors are reported for the module
	if !ok {
		return cty.NilVal, false
	}
	vals, ok := ev.valuesOf(e, typ)
	switch {
	case !ok:
		return cty.NilVal, false
	case len(vals) < e.AtLeast:
		ev.cat.Waits = append(ev.cat.Waits, catalog.Wait{Prefix: m.prefix, Text: e.waitsFor(len(vals))})
		return cty.UnknownVal(cty.Map(typ)).RefineNotNull(), true
	case len(vals) == 0:
		return cty.MapValEmpty(typ), true
	}
	return cty.MapVal(vals), true
}

// waitsFor describes which targets have not reported yet, as far as the input names them.
func (e *Exported) waitsFor(have int) string {
	what := path.Base(e.Module) + "." + e.Output
	if plain := !slices.ContainsFunc(e.Targets, func(s string) bool { return strings.ContainsAny(s, "*?[/\\") }); plain && len(e.Targets) > 0 {
		return fmt.Sprintf("known when %s has reported %s", strings.Join(e.Targets, " or "), what)
	}
	if e.AtLeast == 1 {
		return "known when a target has reported " + what
	}
	return fmt.Sprintf("known when %d targets have reported %s (%d have)", e.AtLeast, what, have)
}

func (ev *evaluator) valuesOf(e *Exported, typ cty.Type) (map[string]cty.Value, bool) {
	if ev.in.Test != nil {
		return ev.valuesOfTest(e, typ)
	}
	g := ev.prog.givenTables()
	if ev.add(g.ds...); g.ds.HasErrors() {
		return nil, false
	}
	if !g.known {
		ev.add(diag.Warningf(e.Range, "Values of other targets are not known",
			"Only a hub and its agents have the values of other targets. Outside of a fleet fettle reads them from %s, which does not exist, "+
				"so exported.%s is empty. To write the file, run: fettle export list --snapshot.", exported.File, e.Name))
	}
	out := map[string]cty.Value{}
	t := g.table(e)
	if t == nil {
		return out, true
	}
	selects := e.Selector()
	for _, v := range t.Values {
		if !selects(v.Target, v.Labels, ev.cat.Labels) {
			continue
		}
		val, err := exported.ValueOf(v.Value, typ)
		if err != nil {
			ev.errorf(e.Range, "Exported value of a different type",
				"%s The target %s exported the value as %q of %s.", sentence(err), v.Key(), e.Output, e.Module)
			return nil, false
		}
		out[v.Key()] = val
	}
	return out, true
}

// valuesOfTest returns the values that a test provides. All of them are selected.
func (ev *evaluator) valuesOfTest(e *Exported, typ cty.Type) (map[string]cty.Value, bool) {
	out := map[string]cty.Value{}
	all, rng, ok := ev.exportedOfTest()
	ev.asked["exported."+e.Name] = true
	v, given := all[e.Name]
	if !ok || !given {
		return out, ok
	}
	m, err := convert.Convert(v, cty.Map(typ))
	if err != nil || m.IsNull() || !m.IsWhollyKnown() {
		ev.errorf(rng, "Wrong type",
			"The values of the test for %q must be an object with a %s for each target: "+
				"exported = { %s = { web1 = … } }.", e.Name, typ.FriendlyName(), e.Name)
		return nil, false
	}
	return m.AsValueMap(), true
}

// exportedOfTest returns the values of a test, by the name of the input.
func (ev *evaluator) exportedOfTest() (map[string]cty.Value, diag.Range, bool) {
	a := ev.in.Test.exported
	if a == nil {
		return nil, diag.Range{}, true
	}
	rng := rangeOf(a.Expr.Range())
	v, hds := a.Expr.Value(ev.prog.pure)
	if hds.HasErrors() {
		ev.add(fromHCL(hds)...)
		return nil, rng, false
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		ev.errorf(rng, "Exported values are an object", `exported must be an object of objects: exported = { backends = { web1 = "10.0.0.1" } }.`)
		return nil, rng, false
	}
	return v.AsValueMap(), rng, true
}

// exports evaluates the exported outputs of the target's modules.
func (ev *evaluator) exports() {
	told := map[string]bool{}
	for _, u := range ev.uses {
		if !told[u.dir] {
			told[u.dir] = true
			ev.prog.exportedOf(&ev.reports, u.dir)
		}
		s := ev.modules[u.name]
		if s == nil || !s.assigned {
			continue
		}
		for _, name := range sortedKeys(s.body.outputs) {
			if o := s.body.outputs[name]; o.exported {
				ev.export(u, s, name, o)
			}
		}
	}
	exported.SortOwn(ev.cat.Exports)
	if err := exported.CheckOwn(ev.cat.Exports); err != nil {
		ev.errorf(diag.Range{}, "Too much is exported", "%s The target is %q.", sentence(err), ev.cat.Target)
	}
}

// export evaluates one output. Values that only a run provides, and null, are not exported.
func (ev *evaluator) export(u *moduleUse, s *scope, name string, o *output) {
	if ev.trail != nil {
		ev.trail.broken = true
	}
	m := ev.output(s, name)
	rng := rangeOf(o.value.Range())
	switch {
	case !m.ok || o.typ == cty.NilType:
		return
	case m.val.ContainsMarked():
		ev.errorf(rng, "Secret is exported",
			"The output %q depends on a secret. Hubs and other targets can read exported values in plain text. Export a value without the secret, "+
				"such as a fingerprint.", name)
		return
	case !m.val.IsWhollyKnown() || m.val.IsNull():
		return
	}
	text, err := exported.ValueText(m.val)
	if err == nil && len(text) > exported.MaxValue {
		err = fmt.Errorf("it has %d bytes, and the limit is %d", len(text), exported.MaxValue)
	}
	if err != nil {
		ev.errorf(rng, "Value cannot be exported", "The output %q: %s", name, sentence(err))
		return
	}
	ev.cat.Exports = append(ev.cat.Exports, exported.Own{Module: u.dir, As: exported.As(u.dir, u.name), Output: name, Value: text})
}
