package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/semver"
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
	ps.only(b, []string{"level", "version", "description"}, nil)
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
	if a := b.Body.Attributes["version"]; a != nil {
		n.Version, n.VersionRange = ps.constraint(a), syntax.RangeOf(a.Expr.Range())
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

// version reads the version of a module.
func (ps *parser) version(a *hclsyntax.Attribute) {
	if ps.body.Version != "" {
		ps.Errorf(syntax.RangeOf(a.NameRange), "Version set twice",
			"At %s there is already a version. Remove one of the two.", ps.body.VersionRange)
		return
	}
	text := ps.text(a.Expr, "version")
	if text == "" {
		return
	}
	if _, err := semver.Parse(text); err != nil {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad version", "%s", syntax.Sentence(err))
		return
	}
	ps.body.Version, ps.body.VersionRange = text, syntax.RangeOf(a.Expr.Range())
}

// constraint reads a constraint on versions. It returns "" after an error.
func (ps *parser) constraint(a *hclsyntax.Attribute) string {
	text := ps.text(a.Expr, "version")
	if text == "" {
		return ""
	}
	if _, err := semver.ParseConstraint(text); err != nil {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad constraint", "%s", syntax.Sentence(err))
		return ""
	}
	return text
}
