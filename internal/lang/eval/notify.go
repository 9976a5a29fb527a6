package eval

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// actionRef is a reference in a list, with its action, "" if it names only a state.
type actionRef struct {
	reference
	action    string
	immediate bool
	text      string
}

// refList reads [a.b, c.d.action, immediate(e.f.action)], or one element without brackets. The
// elements are references, and are not evaluated.
func refList(ev *Evaluator, s *Scope, each map[string]cty.Value, a *hclsyntax.Attribute) []actionRef {
	if a == nil {
		return nil
	}
	return refExprs(ev, s, each, a.Expr)
}

func refExprs(ev *Evaluator, s *Scope, each map[string]cty.Value, e hcl.Expression) []actionRef {
	if list, hds := hcl.ExprList(e); !hds.HasErrors() {
		var out []actionRef
		for _, x := range list {
			out = append(out, refExprs(ev, s, each, x)...)
		}
		return out
	}
	if call, ok := e.(*hclsyntax.FunctionCallExpr); ok && call.Name == "immediate" {
		var out []actionRef
		for _, x := range call.Args {
			out = append(out, refExprs(ev, s, each, x)...)
		}
		for i := range out {
			out[i].immediate = true
		}
		return out
	}
	t, ok := staticTraversal(ev, s, each, e)
	if !ok {
		return nil
	}
	if all, named := ev.allModules(s, t); named && len(t) == 2 {
		var out []actionRef
		for _, key := range syntax.SortedNames(all) {
			out = append(out, actionRef{reference: all[key], text: traversalText(t)})
		}
		return out
	}
	r, at, ok := ev.resolve(s, t)
	if !ok {
		return nil
	}
	return withAction(ev, r, t, at)
}

// staticTraversal returns the steps of a reference. An index such as [each.key] is evaluated.
func staticTraversal(ev *Evaluator, s *Scope, each map[string]cty.Value, e hcl.Expression) (hcl.Traversal, bool) {
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() {
		return t, true
	}
	switch x := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		head, ok := staticTraversal(ev, s, each, x.Source)
		return append(head[:len(head):len(head)], x.Traversal...), ok
	case *hclsyntax.IndexExpr:
		head, ok := staticTraversal(ev, s, each, x.Collection)
		if !ok {
			return nil, false
		}
		k, _, ok := ev.eval(s, each, x.Key)
		if !ok {
			return nil, false
		}
		if k.Type() == cty.String && !k.IsNull() {
			return append(head[:len(head):len(head)], hcl.TraverseIndex{Key: k, SrcRange: x.SrcRange}), true
		}
	}
	ev.Errorf(syntax.RangeOf(e.Range()), "Reference expected",
		"This must be a reference to a state, such as package.nginx, or to an action, such as service.nginx.reload.")
	return nil, false
}

// withAction reads the rest of a reference: empty, or an action.
func withAction(ev *Evaluator, r reference, t hcl.Traversal, at int) []actionRef {
	out := actionRef{reference: r, text: traversalText(t)}
	name, ok := syntax.StepName(t, at)
	if !ok && at == len(t) {
		return []actionRef{out}
	}
	if r.state == nil && ok && r.scope.body.Outputs[name] != nil {
		ev.Errorf(r.rng, "Output as a reference",
			"Only a whole module can be referenced here. Remove %q and write %s.", name, strings.TrimSuffix(out.text, "."+name))
		return nil
	}
	if r.state == nil || r.state.decl.Group {
		ev.Errorf(r.rng, "Unknown action", "A block or module has no actions. Refer to a state in it.")
		return nil
	}
	k := r.state.kind
	if slices.Contains(actionNames(k), name) && at+1 == len(t) {
		out.action = name
		return []actionRef{out}
	}
	if attrOf(k, name) != nil || attrIn(k.Outputs, name) != nil {
		ev.Errorf(r.rng, "Attribute as a reference",
			"Only a whole state can be referenced here. Remove %q and write %s.", name, strings.TrimSuffix(out.text, "."+name))
		return nil
	}
	ev.Errorf(r.rng, "Unknown action", "%s has no action %q.%s", diag.FirstOne(k.Name), name,
		syntax.Suggest(name, actionNames(k)))
	return nil
}

// noAction refuses a reference with an action, which only notify accepts.
func noAction(ev *Evaluator, r actionRef, name string) {
	if r.immediate || r.action != "" {
		ev.Errorf(r.rng, "Action where a state is expected",
			"%s accepts only states. Remove the action from the reference, or use notify.", name)
	}
}

// notify records that the state of t triggers an action.
func (ev *Evaluator) notify(t pendingTrigger, to actionRef) {
	action, ok := actionOf(ev, to)
	if !ok {
		return
	}
	t.to, t.action, t.immediate, t.rng = to.reference, action, to.immediate, to.rng
	ev.pending.triggers = append(ev.pending.triggers, t)
}

// actionOf returns the named action, or the only existing one.
func actionOf(ev *Evaluator, to actionRef) (string, bool) {
	if to.action != "" {
		return to.action, true
	}
	if to.state == nil || to.state.decl.Group || to.state.Define != nil {
		ev.Errorf(to.rng, "No action here", "Only single states have actions, such as service.nginx.reload.")
		return "", false
	}
	return onlyAction(ev, to.state, to.rng, to.text+".")
}

func onlyAction(ev *Evaluator, st *State, rng diag.Range, prefix string) (string, bool) {
	names := actionNames(st.kind)
	switch len(names) {
	case 0:
		ev.Errorf(rng, "No action here", "%s has no actions.", diag.FirstOne(st.kind.Name))
		return "", false
	case 1:
		return names[0], true
	}
	ev.Errorf(rng, "Ambiguous action", "This kind has several actions. Name one of: %s%s.", prefix,
		strings.Join(names, ", "+prefix))
	return "", false
}

// readListen reads notify from the other side: a list for the only action of the kind, or { reload =
// [file.x] }.
func readListen(ev *Evaluator, st *State, each map[string]cty.Value, self reference, a *hclsyntax.Attribute) {
	failure := a.Name == "listen_failure"
	rng := syntax.RangeOf(a.Expr.Range())
	if st.decl.Group || st.Define != nil {
		ev.Errorf(syntax.RangeOf(a.NameRange), "No action here",
			"Only single states have actions, so a block cannot listen. Move the attribute to a state in it.")
		return
	}
	items, hds := hcl.ExprMap(a.Expr)
	if hds.HasErrors() {
		action, ok := onlyAction(ev, st, rng, "")
		if ok {
			listenTo(ev, st, each, self, action, a.Expr, failure)
		}
		return
	}
	for _, it := range items {
		name := hcl.ExprAsKeyword(it.Key)
		if !slices.Contains(actionNames(st.kind), name) {
			ev.Errorf(syntax.RangeOf(it.Key.Range()), "Unknown action", "%s has no action %q.%s", diag.FirstOne(st.kind.Name),
				name, syntax.Suggest(name, actionNames(st.kind)))
			continue
		}
		listenTo(ev, st, each, self, name, it.Value, failure)
	}
}

func listenTo(ev *Evaluator, st *State, each map[string]cty.Value, self reference, action string, e hcl.Expression,
	failure bool) {
	for _, r := range refExprs(ev, st.Scope, each, e) {
		if r.action != "" {
			ev.Errorf(r.rng, "Action where a state is expected",
				"listen accepts only states: their changes run the action. Remove the action from the reference.")
			continue
		}
		ev.pending.triggers = append(ev.pending.triggers, pendingTrigger{from: r.reference, to: self, action: action,
			immediate: r.immediate, failure: failure, rng: r.rng})
	}
}
