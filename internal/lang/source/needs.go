package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// NeedLevels returns the possible requirements for a needed module, rising.
func NeedLevels() []string { return []string{"completion", "availability", "version"} }

// UsualLevel is the requirement for a needed module if a needs block sets none.
const UsualLevel = "availability"

func (ps *parser) needs(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"level", "description"}, nil)
	n := &need{Name: name, Level: UsualLevel, Range: r}
	if a := b.Body.Attributes["level"]; a != nil {
		switch level := ps.text(a.Expr, "level"); {
		case slices.Contains(NeedLevels(), level):
			n.Level = level
		case level != "":
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown level",
				"level must be completion, availability or version, and this is %q.%s", level, syntax.Suggest(level, NeedLevels()))
		}
	}
	for _, old := range ps.body.Needs {
		if old.Name == name {
			ps.Errorf(r, "Module needed twice", "At %s there is already a needs block for %q. Remove one of the two.",
				old.Range, name)
			return
		}
	}
	ps.body.Needs = append(ps.body.Needs, n)
}
