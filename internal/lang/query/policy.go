package query

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Policy returns the policy of a target: the repository's, overridden by its groups, then by the
// target.
func Policy(p *source.Program, r *syntax.Reports, levels []*source.Level) catalog.Policy {
	var out catalog.Policy
	for _, l := range append([]*source.Level{&p.Top}, levels...) {
		b := l.Policy
		if b == nil {
			continue
		}
		for _, known := range source.PolicyAttributes() {
			if a := b.Body.Attributes[known.Name]; a != nil {
				policyValue(p, r, l, a, known.Values, &out)
			}
		}
	}
	return out
}

func policyValue(p *source.Program, r *syntax.Reports, l *source.Level, a *hclsyntax.Attribute, values []string,
	out *catalog.Policy) {
	if a.Name == "rollout" {
		strategyName(p, r, l, a) // runs do not depend on it
		return
	}
	if a.Name == "windows" {
		windowsNamed(p, r, l, a) // runs do not depend on it
		return
	}
	if a.Name == "require_undo" || a.Name == "create_guests" {
		if v, ok := p.EarlyIn(r, l, a.Expr, cty.Bool); ok {
			*map[string]*bool{"require_undo": &out.RequireUndo, "create_guests": &out.CreateGuests}[a.Name] = v.True()
		}
		return
	}
	v, ok := p.EarlyIn(r, l, a.Expr, cty.String)
	if !ok {
		return
	}
	text := v.AsString()
	if a.Name == "repository" {
		repositoryName(p, r, a, text, out)
		return
	}
	if a.Name == "confirm_within" {
		if _, ok := catalog.ConfirmTime(text); !ok {
			r.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid policy",
				`confirm_within must be a duration from %s to %s, such as "60s" or "5m", and this is %q.`, catalog.MinConfirm,
				catalog.MaxConfirm, text)
			return
		}
		out.ConfirmWithin = text
		return
	}
	if !slices.Contains(values, text) {
		r.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid policy", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(values, ", "), text, syntax.Near(text, values))
		return
	}
	switch a.Name {
	case "on_failure":
		out.OnFailure = text
	case "on_crash":
		out.OnCrash = text
	case "on_check_failure":
		out.OnCheckFailure = catalog.StoredCheckFailure(text)
	case "drift":
		out.Drift = text
	case "lockout":
		out.LockOut = text
	}
}

// repositoryName reads the name of the repository, which is the same for all targets.
func repositoryName(p *source.Program, r *syntax.Reports, a *hclsyntax.Attribute, name string, out *catalog.Policy) {
	switch top := p.Top.Policy; {
	case top == nil || top.Body.Attributes[a.Name] != a:
		r.Errorf(syntax.RangeOf(a.SrcRange), "Invalid policy",
			"The name of the repository applies to all targets. Set it in the policy at the top of fettle.hcl.")
	case !catalog.IsRepositoryName(name):
		r.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid policy",
			`repository must be a name of at most 100 letters, digits, ".", "_", "-" and "/", such as "example.org/hosts", and this is %q.`,
			name)
	default:
		out.Repository = name
	}
}
