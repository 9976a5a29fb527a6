package source

import (
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/lang/syntax"
)

// rolloutBlock reads one rollout block. Its values are evaluated before any target is known.
type rolloutBlock struct {
	*parser
	out *Strategy
}

// amount returns a number of targets or a percentage, as package amount writes it.
func (x rolloutBlock) amount(a *hclsyntax.Attribute, absent string, positive bool) string {
	if a == nil {
		return absent
	}
	text, ok := x.scalar(a, `a number such as 3, or a percentage such as "25%"`)
	if !ok {
		return "0"
	}
	n, err := amount.Parse(text)
	switch {
	case err != nil:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number of targets", "%s: %v.", a.Name, err)
	case positive && n.Number == 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number of targets",
			"%s must be at least 1 or 1%%, and this is %q.", a.Name, text)
	}
	return n.String()
}

// seconds returns a duration in seconds.
func (x rolloutBlock) seconds(a *hclsyntax.Attribute, absent string, positive bool) int64 {
	text := absent
	if a != nil {
		given, ok := x.scalar(a, `a duration such as "10m"`)
		if !ok {
			return 0
		}
		text = given
	}
	d, err := duration.Parse(text)
	switch {
	case err != nil:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s: %s.", a.Name, err)
	case d%time.Second != 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must have whole seconds.", a.Name)
	case positive && d == 0:
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must be longer than 0s.", a.Name)
	}
	return int64(d / time.Second)
}

// scalar returns a string or a number as text. want describes the value in an error.
func (x rolloutBlock) scalar(a *hclsyntax.Attribute, want string) (string, bool) {
	v, hds := a.Expr.Value(x.prog.Pure)
	x.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return "", false
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be %s.", a.Name, want)
		return "", false
	}
	return text.AsString(), true
}
