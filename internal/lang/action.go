package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// Action is something that can be done on a target besides keeping it as it should
// be: it is run when somebody asks for it, and changes nothing of what is applied.
type Action struct {
	Name string
	// Module is that which declares it, "" for the top level.
	Module string
	Doc    string
	// Changes is false for one that only looks.
	Changes bool
	// DryRun tells that it has commands that say what it would do.
	DryRun bool
	Params []Param
	Range  diag.Range
}

// Param is a parameter of an action.
type Param struct {
	Name, Type, Doc string
	Required        bool
	Default         string // as JSON; "" when it is required
}

// ID is how it is called where two modules have one of that name: web.drain.
func (a Action) ID() string {
	if a.Module == "" {
		return a.Name
	}
	return a.Module + "." + a.Name
}

// action is a declared one.
type action struct {
	name, doc string
	rng       diag.Range
	params    *body
	attrs     map[string]*hclsyntax.Attribute
	changes   bool
}

func (ps *parser) action(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "changes", "command", "dry_run", "timeout", "user", "cwd", "env"}, []string{"param"})
	at := b.Body.Attributes
	switch old := ps.body.actions[name]; {
	case ps.in != nil:
		ps.errorf(r, "Action inside a define", "An action belongs to a module, or to the top of the repository. Put it beside the define.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.errorf(r, "Bad name for an action", "%q is no identifier. Use letters, digits, _ and -.", name)
		return
	case old != nil:
		ps.errorf(r, "Action declared twice", "The action %q is declared at %s already.", name, old.rng)
		return
	case at["command"] == nil:
		ps.errorf(r, "Action without a command", `Say what it runs: command = ["systemctl", "restart", "nginx"].`)
		return
	}
	inner := &parser{prog: ps.prog, body: newBody(ps.body.folder)}
	for _, sub := range b.Body.Blocks {
		if sub.Type == "param" {
			inner.variable(sub)
		}
	}
	ps.add(inner.list...)
	a := &action{name: name, rng: r, params: inner.body, attrs: at, changes: true}
	if d := at["description"]; d != nil {
		a.doc = ps.text(d.Expr, "description")
	}
	if c := at["changes"]; c != nil {
		v, hds := c.Expr.Value(nil)
		if hds.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
			ps.errorf(rangeOf(c.Expr.Range()), "True or false expected", "changes is false for an action that only looks, else true.")
			return
		}
		a.changes = v.True()
	}
	ps.body.actions[name] = a
}

// Actions are those of a target, by module, then by name.
func (p *Program) Actions(in Input) ([]Action, diag.List) {
	ev, ds := p.evaluate(in, nil)
	if ev == nil {
		return nil, finish(p, ds)
	}
	var out []Action
	ev.eachAction(func(s *scope, a *action) { out = append(out, ev.describe(s, a)) })
	return out, finish(p, ev.list)
}

func (ev *evaluator) eachAction(f func(*scope, *action)) {
	for _, s := range ev.all {
		for _, name := range sortedKeys(s.body.actions) {
			f(s, s.body.actions[name])
		}
	}
}

func (ev *evaluator) describe(s *scope, a *action) Action {
	out := Action{Name: a.name, Doc: a.doc, Changes: a.changes, DryRun: a.attrs["dry_run"] != nil, Range: a.rng}
	for name, m := range ev.modules {
		if m == s {
			out.Module = name
		}
	}
	for _, name := range sortedKeys(a.params.vars) {
		v := a.params.vars[name]
		p := Param{Name: name, Type: typeName(v.typ), Doc: v.description, Required: v.def == nil}
		if v.def != nil {
			if val, ok := ev.variableDefault(a.params, v); ok {
				p.Default = show(val)
			}
		}
		out.Params = append(out.Params, p)
	}
	return out
}

// CallAction gives the commands of an action with these parameters, each as the state
// of an exec: those of its dry run, where dry is set and it has some. name is NAME or
// MODULE.NAME.
func (p *Program) CallAction(in Input, name string, params map[string]string, dry bool) (Action, []kind.State, diag.List) {
	ev, ds := p.evaluate(in, nil)
	if ev == nil {
		return Action{}, nil, finish(p, ds)
	}
	s, a := ev.findAction(name)
	if a == nil || ev.list.HasErrors() {
		return Action{}, nil, finish(p, ev.list)
	}
	described := ev.describe(s, a)
	inner := ev.actionScope(s, a, params)
	if inner == nil {
		return described, nil, finish(p, ev.list)
	}
	what := "command"
	if dry && described.DryRun {
		what = "dry_run"
	}
	return described, ev.commandStates(inner, a, what), finish(p, ev.list)
}

func (ev *evaluator) findAction(name string) (found *scope, act *action) {
	var known, same []string
	ev.eachAction(func(s *scope, a *action) {
		id := ev.describe(s, a).ID()
		known = append(known, a.name)
		if name == id || name == a.name {
			found, act, same = s, a, append(same, id)
		}
		if name == id { // an exact name beats a short one of others
			same = same[:0]
		}
	})
	switch {
	case act == nil:
		ev.errorf(diag.Range{}, "Unknown action", "The target %s has no action %q.%s See them: fettle run --list.", ev.cat.Target, name, Suggest(name, known))
	case len(same) > 1:
		slices.Sort(same)
		ev.errorf(diag.Range{}, "Which action", "Several modules have an action %q: say which: %s.", name, strings.Join(same, ", "))
		return nil, nil
	}
	return found, act
}

// actionScope is the scope of the module with the parameters of a call; nil after a
// diagnostic.
func (ev *evaluator) actionScope(s *scope, a *action, given map[string]string) *scope {
	l := commandLine(given)
	declared := map[string]bool{}
	for name := range a.params.vars {
		declared[name] = true
	}
	for _, name := range sortedKeys(given) {
		if !declared[name] {
			ev.errorf(diag.Range{}, "Unknown parameter", "The action %q has no parameter %q.%s", a.name, name, Suggest(name, keysOf(declared)))
		}
	}
	for _, name := range sortedKeys(a.params.vars) {
		if v := a.params.vars[name]; v.def == nil && l.values[name].val == cty.NilVal {
			ev.errorf(v.rng, "Parameter without a value", "The parameter %q of the action %q has no default: give it: fettle run %s %s=….", name, a.name, a.name, name)
		}
	}
	if ev.list.HasErrors() {
		return nil
	}
	call := &scope{body: a.params, name: "action " + a.name, folder: s.folder, fctx: s.fctx, facts: s.facts, states: map[string]map[string]*state{}, node: -1}
	call.params = call
	if !ev.assign(call, []layer{l}) {
		return nil
	}
	inner := *s
	inner.params, inner.name = call, "action "+a.name
	return &inner
}

// commandStates makes the state of an exec of each command.
func (ev *evaluator) commandStates(s *scope, a *action, what string) []kind.State {
	commands, ok := ev.actionCommands(s, a.attrs[what])
	if !ok {
		return nil
	}
	attrs, ranges := map[string]cty.Value{}, map[string]diag.Range{}
	for _, name := range []string{"timeout", "user", "cwd", "env"} {
		at := a.attrs[name]
		if at == nil {
			continue
		}
		v, _, ok := ev.evalSecret(s, nil, at.Expr)
		if !ok {
			return nil
		}
		if v.ContainsMarked() && name != "env" {
			ev.add(outOfPlace(rangeOf(at.Expr.Range()), name+" of an action"))
			return nil
		}
		attrs[name], ranges[name] = v, rangeOf(at.Expr.Range())
	}
	var out []kind.State
	for i, c := range commands {
		st := kind.State{ID: "action." + a.name, Kind: "exec", Label: a.name, Range: a.rng, Attrs: map[string]cty.Value{}, AttrRanges: map[string]diag.Range{}}
		for name, v := range attrs {
			st.Attrs[name], st.AttrRanges[name] = v, ranges[name]
		}
		st.Attrs["name"] = cty.StringVal(a.name + "-" + itoa(i+1))
		st.Attrs["command"], st.AttrRanges["command"] = c, rangeOf(a.attrs[what].Expr.Range())
		out = append(out, st)
	}
	return out
}

// actionCommands are one command, or several: a list of lists.
func (ev *evaluator) actionCommands(s *scope, at *hclsyntax.Attribute) ([]cty.Value, bool) {
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return nil, false
	}
	if v.ContainsMarked() {
		ev.add(outOfPlace(rangeOf(at.Expr.Range()), "the command line of an action"))
		return nil, false
	}
	if v.IsNull() || !v.CanIterateElements() || v.LengthInt() == 0 {
		return []cty.Value{v}, true // exec says what is wrong
	}
	var out []cty.Value
	lists := 0
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if !e.IsNull() && e.CanIterateElements() {
			lists++
		}
		out = append(out, e)
	}
	switch lists {
	case 0:
		return []cty.Value{wordList(v)}, true
	case len(out):
		for i := range out {
			out[i] = wordList(out[i])
		}
		return out, true
	}
	ev.errorf(rangeOf(at.Expr.Range()), "Bad command", "It is a list of words, or a list of such lists, and here is a mixture.")
	return nil, false
}

// wordList makes texts of the numbers in a command: "${param.seconds}" is one.
func wordList(v cty.Value) cty.Value {
	if words, err := convert.Convert(v, cty.List(cty.String)); err == nil && v.CanIterateElements() {
		return words
	}
	return v
}
