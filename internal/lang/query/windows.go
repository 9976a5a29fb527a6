package query

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/window"
)

// windowsOf returns the windows that policies give a target with these levels, sorted by name. Windows that
// deny add up. The last policy with a window that allows, or with an empty list, replaces earlier windows that allow.
func windowsOf(p *source.Program, r *syntax.Reports, levels []*source.Level) []window.Window {
	var allow, deny []window.Window
	for _, l := range append([]*source.Level{&p.Top}, levels...) {
		if l.Policy == nil || l.Policy.Body.Attributes["windows"] == nil {
			continue
		}
		named := windowsNamed(p, r, l, l.Policy.Body.Attributes["windows"])
		own := slices.DeleteFunc(slices.Clone(named), func(w window.Window) bool { return w.Deny })
		if len(own) > 0 || len(named) == 0 {
			allow = own
		}
		deny = append(deny, slices.DeleteFunc(named, func(w window.Window) bool { return !w.Deny })...)
	}
	out := append(allow, deny...)
	slices.SortFunc(out, func(a, b window.Window) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(out)
}

// windowsNamed reads a list of names of windows that exist.
func windowsNamed(p *source.Program, r *syntax.Reports, l *source.Level, a *hclsyntax.Attribute) []window.Window {
	v, ok := p.EarlyIn(r, l, a.Expr, cty.List(cty.String))
	if !ok {
		return nil
	}
	var out []window.Window
	for _, name := range v.AsValueSlice() {
		if name.IsNull() {
			continue
		}
		if w := p.Window(name.AsString()); w != nil {
			out = append(out, w.Window)
			continue
		}
		var names []string
		for _, w := range p.Windows {
			names = append(names, w.Name)
		}
		r.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown window", "The repository declares no window %q.%s", name.AsString(),
			syntax.Suggest(name.AsString(), names))
	}
	return out
}
