package query

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// ways evaluates ssh blocks for one target after another. An error of an attribute is reported only
// for the first target with it.
type ways struct {
	*syntax.Reports
	prog *source.Program
	bad  map[*hclsyntax.Attribute]bool
}

func newWays(p *source.Program, r *syntax.Reports) *ways {
	return &ways{Reports: r, prog: p, bad: map[*hclsyntax.Attribute]bool{}}
}

// nowhere reports an ssh block in a repository whose only target is the local host.
func (w *ways) nowhere() {
	if b := w.prog.Top.SSH; b != nil {
		w.Errorf(syntax.RangeOf(b.DefRange()), "SSH without targets",
			`The repository declares no targets, so the only target is the local host, which needs no ssh. `+
				`Declare target "NAME" {} for each remote host.`)
	}
}

// of returns the ssh settings of a target. Each attribute has the value of the highest level that
// sets it; options are joined by name. The result is nil if no level has an ssh block, or if ssh is
// turned off.
func (w *ways) of(t Target, in *source.Environment, levels []*source.Level) *SSH {
	var blocks []*hclsyntax.Block // high to low
	each := levels[len(levels)-1].Each
	for i := len(levels) - 1; i >= 0; i-- {
		if b := levels[i].SSH; b != nil {
			blocks = append(blocks, b)
		}
	}
	if b := w.prog.Top.SSH; b != nil {
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil
	}
	ctx := w.prog.Pure.NewChild()
	ctx.Variables = map[string]cty.Value{"target": TargetValue(t.Name, t.Labels, levels),
		"environment": in.Value()}
	one := way{ways: w, blocks: blocks, ctx: ctx, target: t.Name}
	if each != nil {
		one.own = levels[len(levels)-1].SSH
		ctx.Variables["each"] = cty.ObjectVal(each.Each())
	}
	if on, ok := one.flag("enabled"); ok && !on {
		return nil
	}
	out := &SSH{Host: t.Name}
	one.host(out)
	one.user(out)
	one.port(out)
	out.Sudo, _ = one.flag("sudo")
	one.options(out)
	return out
}

// way is the ssh blocks of one target.
type way struct {
	*ways
	blocks []*hclsyntax.Block // high to low
	ctx    *hcl.EvalContext
	target string
	own    *hclsyntax.Block // of a target block with for_each: it can use each
}

// wrong reports an error of an attribute.
func (w *way) wrong(a *hclsyntax.Attribute, rng diag.Range, err error) {
	w.bad[a] = true
	w.Errorf(rng, "Invalid ssh", "%s The target is %q.", syntax.Sentence(err), w.target)
}

// value evaluates an attribute. ok is false for null, and after a diagnostic.
func (w *way) value(a *hclsyntax.Attribute, want cty.Type) (cty.Value, bool) {
	if a == nil || w.bad[a] {
		return cty.NilVal, false
	}
	w.prog.Working(syntax.RangeOf(a.Expr.Range()))
	if ds := w.foreign(a); ds != nil {
		w.bad[a] = true
		w.Add(ds...)
		return cty.NilVal, false
	}
	v, hds := a.Expr.Value(w.ctx)
	if hds.HasErrors() {
		w.bad[a] = true
		ds := w.prog.FromHCL(hds)
		for i := range ds {
			ds[i].Detail += ` The target is "` + w.target + "\"."
		}
		w.Add(ds...)
		return cty.NilVal, false
	}
	v, err := convert.Convert(v, want)
	if err != nil || !v.IsWhollyKnown() {
		w.bad[a] = true
		w.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be %s. The target is %q.", a.Name,
			diag.One(want.FriendlyName()), w.target)
		return cty.NilVal, false
	}
	return v, !v.IsNull()
}

// foreign refuses values that are unknown before a host is reached.
func (w *way) foreign(a *hclsyntax.Attribute) diag.List {
	for _, t := range a.Expr.Variables() {
		if name := t.RootName(); name != "target" && name != "environment" &&
			(name != "each" || w.own == nil || w.own.Body.Attributes[a.Name] != a) {
			return diag.List{diag.Errorf(syntax.RangeOf(t.SourceRange()), "Not known before the connection",
				"An ssh block is evaluated before fettle connects, so it can use only target.name, target.labels, target.roles, "+
					"target.groups and environment. Put the value into a label, instead of %q.", name)}
		}
	}
	return nil
}

// highest returns an attribute of the highest level that sets it.
func (w *way) highest(name string, want cty.Type) (*hclsyntax.Attribute, cty.Value, bool) {
	for _, b := range w.blocks {
		a := b.Body.Attributes[name]
		if v, ok := w.value(a, want); ok {
			return a, v, true
		}
	}
	return nil, cty.NilVal, false
}

func (w *way) flag(name string) (on, ok bool) {
	_, v, ok := w.highest(name, cty.Bool)
	return ok && v.True(), ok
}

func (w *way) host(out *SSH) {
	a, v, ok := w.highest("host", cty.String)
	if ok {
		out.Host = v.AsString()
	}
	if err := checkSSHHost(out.Host); err == nil {
		return
	} else if ok {
		w.wrong(a, syntax.RangeOf(a.Expr.Range()), err)
	} else {
		w.Errorf(syntax.RangeOf(w.blocks[0].DefRange()), "Invalid ssh",
			"%s No host is set, so the name of the target, %q, is used. Set host.", syntax.Sentence(err), w.target)
	}
}

func (w *way) user(out *SSH) {
	a, v, ok := w.highest("user", cty.String)
	if !ok {
		return
	}
	out.User = v.AsString()
	if err := checkSSHUser(out.User); err != nil {
		w.wrong(a, syntax.RangeOf(a.Expr.Range()), err)
	}
}

func (w *way) port(out *SSH) {
	a, v, ok := w.highest("port", cty.Number)
	if !ok {
		return
	}
	n, exact := v.AsBigFloat().Int64()
	if err := checkSSHPort(n); exact != 0 || err != nil {
		w.wrong(a, syntax.RangeOf(a.Expr.Range()), checkSSHPort(0))
		return
	}
	out.Port = int(n)
}

// options joins the options of all levels. Their names are case-insensitive. null removes the value
// of a lower level.
func (w *way) options(out *SSH) {
	written := map[string]string{} // by the name in lower case
	for i := len(w.blocks) - 1; i >= 0; i-- {
		a := w.blocks[i].Body.Attributes["options"]
		v, ok := w.value(a, cty.Map(cty.String))
		if !ok {
			continue
		}
		here := map[string]string{}
		values := v.AsValueMap()
		for _, name := range syntax.SortedNames(values) {
			if twice := here[strings.ToLower(name)]; twice != "" {
				w.Errorf(optionRange(a, name), "Invalid ssh", "The option %s is already set as %s. Remove one of the two.", name,
					twice)
				continue
			}
			here[strings.ToLower(name)] = name
			delete(out.Options, written[strings.ToLower(name)])
			if values[name].IsNull() {
				continue
			}
			if err := checkSSHOption(name, values[name].AsString()); err != nil {
				w.wrong(a, optionRange(a, name), err)
				continue
			}
			if out.Options == nil {
				out.Options = map[string]string{}
			}
			out.Options[name], written[strings.ToLower(name)] = values[name].AsString(), name
		}
	}
}

// optionRange returns the place of an option, or of the whole attribute.
func optionRange(a *hclsyntax.Attribute, name string) diag.Range {
	pairs, hds := hcl.ExprMap(a.Expr)
	if hds.HasErrors() {
		return syntax.RangeOf(a.Expr.Range())
	}
	for _, p := range pairs {
		if k, kds := p.Key.Value(nil); !kds.HasErrors() && k.Type() == cty.String && !k.IsNull() && k.IsKnown() &&
			k.AsString() == name {
			return syntax.RangeOf(p.Key.Range())
		}
	}
	return syntax.RangeOf(a.Expr.Range())
}
