package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/syntax"
)

// eval evaluates an expression of a scope. The value must be known and must not depend on a secret.
// eval also returns the references of the expression. ok is false after a diagnostic, here or at
// the origin of the value.
func (ev *Evaluator) eval(s *Scope, each map[string]cty.Value, e hclsyntax.Expression) (cty.Value, []reference, bool) {
	v, refs, ok := ev.evalLater(s, each, e)
	return v, refs, ok && mustKnow(ev, e, v)
}

// mustKnow reports a value that only a run provides.
func mustKnow(ev *Evaluator, e hclsyntax.Expression, v cty.Value) bool {
	if v.IsWhollyKnown() {
		return true
	}
	ev.Errorf(syntax.RangeOf(e.Range()), "Value is not known",
		"The value depends on the result of a run, such as the output of a command. This attribute needs a value that is known before the run.")
	return false
}

// evalSecret is like eval, but the value can depend on a secret and then carries its mark.
func (ev *Evaluator) evalSecret(s *Scope, each map[string]cty.Value,
	e hclsyntax.Expression) (cty.Value, []reference, bool) {
	v, refs, ok := ev.evalAny(s, each, e)
	return v, refs, ok && mustKnow(ev, e, v)
}

// evalLater is like eval, but also accepts a value that only a run provides.
func (ev *Evaluator) evalLater(s *Scope, each map[string]cty.Value,
	e hclsyntax.Expression) (cty.Value, []reference, bool) {
	v, refs, ok := ev.evalAny(s, each, e)
	if ok && v.ContainsMarked() {
		ev.Add(traced(ev, s, diag.List{outOfPlace(syntax.RangeOf(e.Range()), "the set of states")})...)
		return cty.NilVal, nil, false
	}
	return v, refs, ok
}

// evalAny is like eval, but also accepts a value that only a run provides, or that depends on a
// secret. A secret value carries its mark.
func (ev *Evaluator) evalAny(s *Scope, each map[string]cty.Value,
	e hclsyntax.Expression) (cty.Value, []reference, bool) {
	traversals := ev.Program.NamesIn(e)
	ctx := s.fctx
	var refs []reference
	if len(traversals) > 0 {
		vars, found, ok := variablesOf(ev, s, each, traversals)
		if !ok {
			return cty.NilVal, nil, false
		}
		refs = found
		ctx = s.fctx.NewChild()
		ctx.Variables = vars
	}
	ev.Program.Working(syntax.RangeOf(e.Range()))
	v, ok := compute(ev, s, e, ctx)
	if !ok {
		return cty.NilVal, nil, false
	}
	if plain, _ := v.Unmark(); plain.Type() == cty.String && plain.IsKnown() && !plain.IsNull() &&
		len(plain.AsString()) > functions.MaxText {
		ev.Errorf(syntax.RangeOf(e.Range()), "Text too long",
			"The text has %d bytes; the limit is 16 MiB. Use a file with source.", len(plain.AsString()))
		return cty.NilVal, nil, false
	}
	return v, refs, true
}

// traced adds the use of the kind to each diagnostic, if the scope is inside a defined kind.
func traced(ev *Evaluator, s *Scope, ds diag.List) diag.List {
	for i := range ds {
		ds[i] = ds[i].UsedAt(s.trace)
	}
	return ds
}

// compute returns the value of an expression. ok is false after a diagnostic.
func compute(ev *Evaluator, s *Scope, e hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, ok bool) {
	v, hds := e.Value(ctx)
	if looped(ev, e) {
		return cty.NilVal, false
	}
	if hds.HasErrors() {
		ev.Add(traced(ev, s, ev.Program.FromHCL(hds))...)
		return cty.NilVal, false
	}
	return v, true
}

// looped reports too many loops, once. After that no loop of the target has a value, and try would
// hide it.
func looped(ev *Evaluator, e hclsyntax.Expression) bool {
	l := ev.Program.Loops
	if !l.Over() {
		return false
	}
	if !l.Shown {
		l.Shown = true
		ev.Errorf(syntax.RangeOf(e.Range()), syntax.ManyLoops, "%s", syntax.ManyLoopsDetail())
	}
	return true
}

// errorIn reports an error in a scope.
func (ev *Evaluator) errorIn(s *Scope, rng diag.Range, summary, detail string, args ...any) {
	ev.Add(diag.Errorf(rng, summary, detail, args...).UsedAt(s.trace))
}

// outOfPlace returns the diagnostic with the places where a secret is allowed.
func outOfPlace(rng diag.Range, where string) diag.Diagnostic {
	return diag.Errorf(rng, "Secret in a visible place",
		"This value depends on a secret, and lists, plans and logs show %s. Secrets are allowed in content, secret and template of a file, in password_hash of a user, and in env of an exec. They are also allowed in regions of files: file_line, file_block, ini_key and similar kinds. Write the secret to such a file and let the program read it.", where)
}
