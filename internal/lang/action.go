package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// Action is an operation on a target that does not belong to its desired state. It runs when a user
// requests it, and does not change the applied state.
type Action struct {
	Name string
	// Module is the module that declares the action, "" for the top level.
	Module string
	Doc    string
	// Changes is false if the action only reads.
	Changes bool
	// DryRun is set if the action has commands that show its effect in advance.
	DryRun bool
	// JSON is set if the action prints JSON: objects, shown as rows of a table.
	JSON   bool
	Params []Param
	Range  diag.Range
}

// ID returns the name that is unique in the repository: MODULE.NAME, or NAME for an action of the
// top level.
func (a Action) ID() string {
	if a.Module == "" {
		return a.Name
	}
	return a.Module + "." + a.Name
}

// action is a declared action.
type action struct {
	name, doc string
	rng       diag.Range
	params    *body
	attrs     map[string]*hclsyntax.Attribute
	changes   bool
	json      bool
}

func (ps *parser) action(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "changes", "command", "dry_run", "output", "timeout", "user", "cwd", "env"}, []string{"param"})
	at := b.Body.Attributes
	switch old := ps.body.actions[name]; {
	case ps.in != nil:
		ps.errorf(r, "Action inside a define",
			"Actions are declared in a module or at the top of the repository. Move the action out of the define block.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.errorf(r, "Bad name for an action", "%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.errorf(r, "Action declared twice", "The action %q is already declared at %s. Rename or remove one of the two.", name, old.rng)
		return
	case at["command"] == nil:
		ps.errorf(r, "Action without a command", `Set the command that the action runs: command = ["systemctl", "restart", "nginx"].`)
		return
	}
	a := &action{name: name, rng: r, params: ps.params(b), attrs: at, doc: ps.textOf(at, "description"), changes: ps.boolOf(at, "changes", true)}
	if o := at["output"]; o != nil {
		if word := ps.textOf(at, "output"); word != "json" && word != "text" {
			ps.errorf(rangeOf(o.Expr.Range()), "Unknown output",
				`output must be "json" (the commands of the action print JSON) or "text", `+
					`and this is %q.%s`, word, Suggest(word, []string{"json", "text"}))
		}
		a.json = ps.textOf(at, "output") == "json"
	}
	ps.body.actions[name] = a
}

// params reads the param blocks of a block. Each parameter is stored as a variable.
func (ps *parser) params(b *hclsyntax.Block) *body {
	inner := &parser{prog: ps.prog, body: newBody(ps.body.directory)}
	for _, sub := range b.Body.Blocks {
		if sub.Type == "param" {
			inner.variable(sub)
		}
	}
	ps.add(inner.list...)
	return inner.body
}

// textOf returns a constant string attribute, "" if it is omitted.
func (ps *parser) textOf(at map[string]*hclsyntax.Attribute, name string) string {
	if a := at[name]; a != nil {
		return ps.text(a.Expr, name)
	}
	return ""
}

// boolOf returns a constant boolean attribute.
func (ps *parser) boolOf(at map[string]*hclsyntax.Attribute, name string, absent bool) bool {
	a := at[name]
	if a == nil {
		return absent
	}
	v, hds := a.Expr.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
		ps.errorf(rangeOf(a.Expr.Range()), "True or false expected", "Write %s = true or %s = false.", name, name)
		return absent
	}
	return v.True()
}

func (ev *evaluator) eachAction(f func(*scope, *action)) {
	for _, s := range ev.all {
		for _, name := range sortedKeys(s.body.actions) {
			f(s, s.body.actions[name])
		}
	}
}

func (ev *evaluator) describe(s *scope, a *action) Action {
	out := ev.prog.described(a)
	for name, m := range ev.modules {
		if m == s {
			out.Module = name
		}
	}
	return out
}

// described returns the description of an action, without its module.
func (p *Program) described(a *action) Action {
	return Action{Name: a.name, Doc: a.doc, Changes: a.changes, DryRun: a.attrs["dry_run"] != nil, JSON: a.json, Params: p.paramsOf(a.params), Range: a.rng}
}

// Check returns the errors in parameters, before any target is known.
func (a Action) Check(params map[string]string) diag.List {
	return CheckParams(fmt.Sprintf("the action %q", a.Name), a.ID(), a.Params, params)
}

// Call is an action with its parameters.
type Call struct {
	Action Action
	// States are the commands of the action, each as the state of an exec.
	States []kind.State
	// Env has secret values that a user typed, as NAME=VALUE. All commands of States get them in
	// addition to their own environment.
	Env []string
}

// CallAction returns the commands of an action with these parameters. If dry is set and the action
// has commands for a dry run, it returns these. name is NAME or MODULE.NAME.
func (p *Program) CallAction(in Input, name string, params map[string]string, dry bool) (Call, diag.List) {
	ev, ds := p.evaluate(in, nil)
	if ev == nil {
		return Call{}, finish(p, ds)
	}
	s, a := ev.findAction(name)
	if a == nil || ev.list.HasErrors() {
		return Call{}, finish(p, ev.list)
	}
	call := Call{Action: ev.describe(s, a)}
	inner := ev.actionScope(s, a, call.Action.Params, params)
	if inner == nil {
		return call, finish(p, ev.list)
	}
	what := "command"
	if dry && call.Action.DryRun {
		what = "dry_run"
	}
	ev.commands(&call, inner, a, what)
	return call, finish(p, ev.list)
}

func (ev *evaluator) findAction(name string) (found *scope, act *action) {
	var known, same []string
	ev.eachAction(func(s *scope, a *action) {
		id := ev.describe(s, a).ID()
		known = append(known, a.name)
		if name == id || name == a.name {
			found, act, same = s, a, append(same, id)
		}
		if name == id { // an exact match has precedence over a match of the short name
			same = same[:0]
		}
	})
	switch {
	case act == nil:
		ev.errorf(diag.Range{}, "Unknown action",
			"The target %s has no action %q.%s To list all actions, run: fettle run --list.", ev.cat.Target, name, Suggest(name, known))
	case len(same) > 1:
		slices.Sort(same)
		ev.errorf(diag.Range{}, "Ambiguous action", "Several modules have an action %q. Name one of: %s.", name, strings.Join(same, ", "))
		return nil, nil
	}
	return found, act
}

// actionScope is the scope of the module with the parameters of a call; nil after a
// diagnostic.
func (ev *evaluator) actionScope(s *scope, a *action, params []Param, given map[string]string) *scope {
	ev.add(CheckParams(fmt.Sprintf("the action %q", a.name), a.name, params, given)...)
	if ev.list.HasErrors() {
		return nil
	}
	call := ev.call("action "+a.name, a.params, given)
	if call == nil {
		return nil
	}
	inner := *s
	inner.params, inner.name = call, "action "+a.name
	return &inner
}

// commands makes an exec state for each command.
func (ev *evaluator) commands(call *Call, s *scope, a *action, what string) {
	commands, ok := ev.actionCommands(s, a.attrs[what])
	if !ok {
		return
	}
	attrs, ranges := map[string]cty.Value{}, map[string]diag.Range{}
	for _, name := range []string{"timeout", "user", "cwd", "env"} {
		at := a.attrs[name]
		if at == nil {
			continue
		}
		v, _, ok := ev.evalSecret(s, nil, at.Expr)
		if !ok {
			return
		}
		if v.ContainsMarked() && name != "env" {
			ev.add(outOfPlace(rangeOf(at.Expr.Range()), name+" of an action"))
			return
		}
		if name == "env" {
			mixed := ""
			if v, call.Env, mixed = hidden(v); mixed != "" {
				ev.errorf(rangeOf(at.Expr.Range()), "Two secrets in one text",
					"%s contains a secret of the repository and a secret parameter. "+
						"Pass each secret to the program in its own environment variable.", mixed)
				return
			}
		}
		attrs[name], ranges[name] = v, rangeOf(at.Expr.Range())
	}
	for i, c := range commands {
		st := kind.State{ID: "action." + a.name, Kind: "exec", Label: a.name, Range: a.rng, Attrs: map[string]cty.Value{}, AttrRanges: map[string]diag.Range{}}
		for name, v := range attrs {
			st.Attrs[name], st.AttrRanges[name] = v, ranges[name]
		}
		st.Attrs["name"] = cty.StringVal(a.name + "-" + itoa(i+1))
		st.Attrs["command"], st.AttrRanges["command"] = c, rangeOf(a.attrs[what].Expr.Range())
		call.States = append(call.States, st)
	}
}

// actionCommands returns the commands of an attribute: one command, or a list of commands.
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
		return []cty.Value{v}, true // exec reports the error
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
	ev.errorf(rangeOf(at.Expr.Range()), "Bad command", "command must be a list of words, or a list of such lists. This list contains both.")
	return nil, false
}

// wordList converts the numbers in a command to strings: "${param.seconds}" is a number.
func wordList(v cty.Value) cty.Value {
	if words, err := convert.Convert(v, cty.List(cty.String)); err == nil && v.CanIterateElements() {
		return words
	}
	return v
}
