package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
)

// policyAttrs are the attributes of a policy block with their values; none for
// a boolean and a time.
var policyAttrs = [...]struct {
	name   string
	values []string
}{
	{"on_failure", []string{"stop", "undo"}},
	{"on_crash", []string{"undo", "finish"}},
	{"on_check_failure", []string{"keep", "undo"}},
	{"drift", []string{"repair", "report"}},
	{"lockout", []string{"confirm", "checks", "ignore"}},
	{"confirm_within", nil},
	{"require_undo", nil},
	{"repository", nil},
}

// policyBlock stores a policy block: at the top for all targets, inside a target for this target.
func (ps *parser) policyBlock(b *hclsyntax.Block, into **hclsyntax.Block) {
	names := make([]string, 0, len(policyAttrs))
	for _, a := range policyAttrs {
		names = append(names, a.name)
	}
	ps.only(b, names, nil)
	switch {
	case len(b.Labels) > 0:
		ps.errorf(rangeOf(b.LabelRanges[0]), "Unexpected label", "A policy has no label. Write policy { … }.")
	case *into != nil:
		ps.errorf(rangeOf(b.DefRange()), "Policy declared twice",
			"There is already a policy at %s. Merge the two blocks.", rangeOf((*into).DefRange()))
	default:
		*into = b
	}
}

// policy returns the policy of a target: the repository's, overridden by its groups, then by the
// target.
func (p *Program) policy(r *reports, levels []*level) catalog.Policy {
	var out catalog.Policy
	for _, l := range append([]*level{&p.top}, levels...) {
		b := l.policy
		if b == nil {
			continue
		}
		for _, known := range policyAttrs {
			if a := b.Body.Attributes[known.name]; a != nil {
				p.policyValue(r, a, known.values, &out)
			}
		}
	}
	return out
}

func (p *Program) policyValue(r *reports, a *hclsyntax.Attribute, values []string, out *catalog.Policy) {
	if a.Name == "require_undo" {
		if v, ok := p.early(r, a.Expr, cty.Bool); ok {
			out.RequireUndo = v.True()
		}
		return
	}
	v, ok := p.early(r, a.Expr, cty.String)
	if !ok {
		return
	}
	text := v.AsString()
	if a.Name == "repository" {
		p.repositoryName(r, a, text, out)
		return
	}
	if a.Name == "confirm_within" {
		if _, ok := catalog.ConfirmTime(text); !ok {
			r.errorf(rangeOf(a.Expr.Range()), "Invalid policy",
				`confirm_within must be a duration from %s to %s, such as "60s" or "5m", and this is %q.`, catalog.MinConfirm, catalog.MaxConfirm, text)
			return
		}
		out.ConfirmWithin = text
		return
	}
	if !slices.Contains(values, text) {
		r.errorf(rangeOf(a.Expr.Range()), "Invalid policy", "%s must be one of %s, and this is %q.%s", a.Name, strings.Join(values, ", "), text, Near(text, values))
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
func (p *Program) repositoryName(r *reports, a *hclsyntax.Attribute, name string, out *catalog.Policy) {
	switch top := p.top.policy; {
	case top == nil || top.Body.Attributes[a.Name] != a:
		r.errorf(rangeOf(a.SrcRange), "Invalid policy",
			"The name of the repository applies to all targets. Set it in the policy at the top of fettle.hcl.")
	case !catalog.IsRepositoryName(name):
		r.errorf(rangeOf(a.Expr.Range()), "Invalid policy",
			`repository must be a name of at most 100 letters, digits, ".", "_", "-" and "/", such as "example.org/hosts", and this is %q.`, name)
	default:
		out.Repository = name
	}
}
