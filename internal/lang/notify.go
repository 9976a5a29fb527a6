package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// actionRef is a reference in a list, with its action, "" if it names only a state.
type actionRef struct {
	ref
	action    string
	immediate bool
	text      string
}

// refList reads [a.b, c.d.action, immediate(e.f.action)], or one element without brackets. The
// elements are references, and are not evaluated.
func (ev *evaluator) refList(s *scope, each map[string]cty.Value, a *hclsyntax.Attribute) []actionRef {
	if a == nil {
		return nil
	}
	return ev.refExprs(s, each, a.Expr)
}

func (ev *evaluator) refExprs(s *scope, each map[string]cty.Value, e hcl.Expression) []actionRef {
	if list, hds := hcl.ExprList(e); !hds.HasErrors() {
		var out []actionRef
		for _, x := range list {
			out = append(out, ev.refExprs(s, each, x)...)
		}
		return out
	}
	if call, ok := e.(*hclsyntax.FunctionCallExpr); ok && call.Name == "immediate" {
		var out []actionRef
		for _, x := range call.Args {
			out = append(out, ev.refExprs(s, each, x)...)
		}
		for i := range out {
			out[i].immediate = true
		}
		return out
	}
	t, ok := ev.staticTraversal(s, each, e)
	if !ok {
		return nil
	}
	r, at, ok := ev.resolve(s, t)
	if !ok {
		return nil
	}
	return ev.withAction(r, t, at)
}

// staticTraversal returns the steps of a reference. An index such as [each.key] is evaluated.
func (ev *evaluator) staticTraversal(s *scope, each map[string]cty.Value, e hcl.Expression) (hcl.Traversal, bool) {
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() {
		return t, true
	}
	switch x := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		head, ok := ev.staticTraversal(s, each, x.Source)
		return append(head[:len(head):len(head)], x.Traversal...), ok
	case *hclsyntax.IndexExpr:
		head, ok := ev.staticTraversal(s, each, x.Collection)
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
	ev.errorf(rangeOf(e.Range()), "Reference expected",
		"This must be a reference to a state, such as package.nginx, or to an action, such as service.nginx.reload.")
	return nil, false
}

// withAction reads the rest of a reference: empty, or an action.
func (ev *evaluator) withAction(r ref, t hcl.Traversal, at int) []actionRef {
	out := actionRef{ref: r, text: traversalText(t)}
	name, ok := stepName(t, at)
	if !ok && at == len(t) {
		return []actionRef{out}
	}
	if r.state == nil && ok && r.scope.body.outputs[name] != nil {
		ev.errorf(r.rng, "Output as a reference",
			"Only a whole module can be referenced here. Remove %q and write %s.", name, strings.TrimSuffix(out.text, "."+name))
		return nil
	}
	if r.state == nil || r.state.decl.group {
		ev.errorf(r.rng, "Unknown action", "A block or module has no actions. Refer to a state in it.")
		return nil
	}
	k := r.state.kind
	if contains(actionNames(k), name) && at+1 == len(t) {
		out.action = name
		return []actionRef{out}
	}
	if attrOf(k, name) != nil || attrIn(k.Outputs, name) != nil {
		ev.errorf(r.rng, "Attribute as a reference",
			"Only a whole state can be referenced here. Remove %q and write %s.", name, strings.TrimSuffix(out.text, "."+name))
		return nil
	}
	ev.errorf(r.rng, "Unknown action", "%s has no action %q.%s", diag.FirstOne(k.Name), name, Suggest(name, actionNames(k)))
	return nil
}

// noAction refuses a reference with an action, which only notify accepts.
func (ev *evaluator) noAction(r actionRef, name string) {
	if r.immediate || r.action != "" {
		ev.errorf(r.rng, "Action where a state is expected", "%s accepts only states. Remove the action from the reference, or use notify.", name)
	}
}

// notify records that the state of t triggers an action.
func (ev *evaluator) notify(t pendingTrigger, to actionRef) {
	action, ok := ev.actionOf(to)
	if !ok {
		return
	}
	t.to, t.action, t.immediate, t.rng = to.ref, action, to.immediate, to.rng
	ev.trigs = append(ev.trigs, t)
}

// actionOf returns the named action, or the only existing one.
func (ev *evaluator) actionOf(to actionRef) (string, bool) {
	if to.action != "" {
		return to.action, true
	}
	if to.state == nil || to.state.decl.group || to.state.def != nil {
		ev.errorf(to.rng, "No action here", "Only single states have actions, such as service.nginx.reload.")
		return "", false
	}
	return ev.onlyAction(to.state, to.rng, to.text+".")
}

func (ev *evaluator) onlyAction(st *state, rng diag.Range, prefix string) (string, bool) {
	names := actionNames(st.kind)
	switch len(names) {
	case 0:
		ev.errorf(rng, "No action here", "%s has no actions.", diag.FirstOne(st.kind.Name))
		return "", false
	case 1:
		return names[0], true
	}
	ev.errorf(rng, "Ambiguous action", "This kind has several actions. Name one of: %s%s.", prefix, strings.Join(names, ", "+prefix))
	return "", false
}

// listen reads notify from the other side: a list for the only action of the kind, or { reload =
// [file.x] }.
func (ev *evaluator) listen(st *state, each map[string]cty.Value, self ref, a *hclsyntax.Attribute) {
	failure := a.Name == "listen_failure"
	rng := rangeOf(a.Expr.Range())
	if st.decl.group || st.def != nil {
		ev.errorf(rangeOf(a.NameRange), "No action here",
			"Only single states have actions, so a block cannot listen. Move the attribute to a state in it.")
		return
	}
	items, hds := hcl.ExprMap(a.Expr)
	if hds.HasErrors() {
		action, ok := ev.onlyAction(st, rng, "")
		if ok {
			ev.listenTo(st, each, self, action, a.Expr, failure)
		}
		return
	}
	for _, it := range items {
		name := hcl.ExprAsKeyword(it.Key)
		if !contains(actionNames(st.kind), name) {
			ev.errorf(rangeOf(it.Key.Range()), "Unknown action", "%s has no action %q.%s", diag.FirstOne(st.kind.Name), name, Suggest(name, actionNames(st.kind)))
			continue
		}
		ev.listenTo(st, each, self, name, it.Value, failure)
	}
}

func (ev *evaluator) listenTo(st *state, each map[string]cty.Value, self ref, action string, e hcl.Expression, failure bool) {
	for _, r := range ev.refExprs(st.scope, each, e) {
		if r.action != "" {
			ev.errorf(r.rng, "Action where a state is expected",
				"listen accepts only states: their changes run the action. Remove the action from the reference.")
			continue
		}
		ev.trigs = append(ev.trigs, pendingTrigger{from: r.ref, to: self, action: action, immediate: r.immediate, failure: failure, rng: r.rng})
	}
}
