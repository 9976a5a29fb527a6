package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

func eachAction(ev *Evaluator, f func(*Scope, *source.Action)) {
	for _, s := range ev.All {
		for _, name := range syntax.SortedNames(s.body.Actions) {
			f(s, s.body.Actions[name])
		}
	}
}

func describeAction(ev *Evaluator, s *Scope, a *source.Action) query.Action {
	out := query.DescribeAction(ev.Program, a)
	for name, m := range ev.modules {
		if m == s {
			out.Module = name
		}
	}
	return out
}

// Call is an action with its parameters.
type Call struct {
	Action query.Action
	// States are the commands of the action, each as the state of an exec.
	States []kind.State
	// Env has secret values that a user typed, as NAME=VALUE. All commands of States get them in
	// addition to their own environment.
	Env []string
	// Locks are the names of the locks that the commands need, sorted.
	Locks []string
}

// CallAction returns the commands of an action with these parameters. If dry is set and the action
// has commands for a dry run, it returns these. name is NAME or MODULE.NAME.
func CallAction(p *source.Program, in Input, name string, params map[string]string, dry bool) (Call, diag.List) {
	ev, ds := evaluate(p, in, nil)
	if ev == nil {
		return Call{}, source.Finish(p, ds)
	}
	s, a := findAction(ev, name)
	if a == nil || ev.List.HasErrors() {
		return Call{}, source.Finish(p, ev.List)
	}
	call := Call{Action: describeAction(ev, s, a)}
	inner := actionScope(ev, s, a, call.Action.Params, params)
	if inner == nil {
		return call, source.Finish(p, ev.List)
	}
	what := "command"
	if dry && call.Action.DryRun {
		what = "dry_run"
	}
	addCommands(ev, &call, inner, a, what)
	call.Locks = locksIn(ev, inner, nil, a.Attributes["lock"])
	return call, source.Finish(p, ev.List)
}

func findAction(ev *Evaluator, name string) (found *Scope, act *source.Action) {
	var known, same []string
	eachAction(ev, func(s *Scope, a *source.Action) {
		id := describeAction(ev, s, a).ID()
		known = append(known, a.Name)
		if name == id || name == a.Name {
			found, act, same = s, a, append(same, id)
		}
		if name == id { // an exact match has precedence over a match of the short name
			same = same[:0]
		}
	})
	switch {
	case act == nil:
		ev.Errorf(diag.Range{}, "Unknown action",
			"The target %s has no action %q.%s To list all actions, run: fettle run --list.", ev.Catalog.Target, name,
			syntax.Suggest(name, known))
	case len(same) > 1:
		slices.Sort(same)
		ev.Errorf(diag.Range{}, "Ambiguous action", "Several modules have an action %q. Name one of: %s.", name,
			strings.Join(same, ", "))
		return nil, nil
	}
	return found, act
}

// actionScope is the scope of the module with the parameters of a call; nil after a
// diagnostic.
func actionScope(ev *Evaluator, s *Scope, a *source.Action, params []query.Param, given map[string]string) *Scope {
	ev.Add(query.CheckParams(fmt.Sprintf("the action %q", a.Name), a.Name, params, given)...)
	if ev.List.HasErrors() {
		return nil
	}
	call := callScope(ev, "action "+a.Name, a.Params, given)
	if call == nil {
		return nil
	}
	inner := *s
	inner.params, inner.name = call, "action "+a.Name
	return &inner
}

// addCommands makes an exec state for each command.
func addCommands(ev *Evaluator, call *Call, s *Scope, a *source.Action, what string) {
	commands, ok := actionCommands(ev, s, a.Attributes[what])
	if !ok {
		return
	}
	attrs, ranges := map[string]cty.Value{}, map[string]diag.Range{}
	for _, name := range []string{"timeout", "user", "cwd", "env"} {
		at := a.Attributes[name]
		if at == nil {
			continue
		}
		v, _, ok := ev.evalSecret(s, nil, at.Expr)
		if !ok {
			return
		}
		if v.ContainsMarked() && name != "env" {
			ev.Add(outOfPlace(syntax.RangeOf(at.Expr.Range()), name+" of an action"))
			return
		}
		if name == "env" {
			mixed := ""
			if v, call.Env, mixed = hidden(v); mixed != "" {
				ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Two secrets in one text",
					"%s contains a secret of the repository and a secret parameter. "+
						"Pass each secret to the program in its own environment variable.", mixed)
				return
			}
		}
		attrs[name], ranges[name] = v, syntax.RangeOf(at.Expr.Range())
	}
	for i, c := range commands {
		st := kind.State{ID: "action." + a.Name, Kind: "exec", Label: a.Name, Range: a.Range, Attrs: map[string]cty.Value{},
			AttrRanges: map[string]diag.Range{}}
		for name, v := range attrs {
			st.Attrs[name], st.AttrRanges[name] = v, ranges[name]
		}
		st.Attrs["name"] = cty.StringVal(a.Name + "-" + strconv.Itoa(i+1))
		st.Attrs["command"], st.AttrRanges["command"] = c, syntax.RangeOf(a.Attributes[what].Expr.Range())
		call.States = append(call.States, st)
	}
}

// actionCommands returns the commands of an attribute: one command, or a list of commands.
func actionCommands(ev *Evaluator, s *Scope, at *hclsyntax.Attribute) ([]cty.Value, bool) {
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return nil, false
	}
	if v.ContainsMarked() {
		ev.Add(outOfPlace(syntax.RangeOf(at.Expr.Range()), "the command line of an action"))
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
	ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Bad command",
		"command must be a list of words, or a list of such lists. This list contains both.")
	return nil, false
}

// wordList converts the numbers in a command to strings: "${param.seconds}" is a number.
func wordList(v cty.Value) cty.Value {
	if words, err := convert.Convert(v, cty.List(cty.String)); err == nil && v.CanIterateElements() {
		return words
	}
	return v
}
