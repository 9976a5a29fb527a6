package schema

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// generatorAttrs are the attributes of a block that makes several targets or scopes.
func generatorAttrs(what string) []kind.Attr {
	return []kind.Attr{
		{Name: "for_each", Type: expression, Doc: "set of strings or map: a " + what + " for each element"},
		{Name: "name", Type: cty.String, Doc: "with for_each: name of each " + what + "; default: each.key"},
		{Name: "at_least", Type: cty.Number, Doc: "with for_each: fewer elements are an error; default: 1"},
	}
}

// instancesAttrs are the attributes of a module block that makes several modules.
func instancesAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "for_each", Type: expression,
			Doc: "set of strings or map: a module NAME[\"KEY\"] for each element"},
		{Name: "at_least", Type: cty.Number, Doc: "with for_each: fewer elements are an error; default: 0"},
	}
}

// made returns the attributes of a block with for_each: an expression can give whole mappings and lists.
func made(attrs []kind.Attr) []kind.Attr {
	out := slices.Clone(attrs)
	for i, a := range out {
		switch {
		case a.Type == mapping && len(a.OneOf) == 0:
			out[i].Type = madeMapping
		case a.Type == sequence:
			out[i].Type = madeSequence
		}
	}
	return out
}

// enrolledAttrs are the attributes of a target that was enrolled in a fleet.
func enrolledAttrs() []kind.Attr {
	return []kind.Attr{
		{Name: "labels", Type: cty.Map(cty.String),
			Doc: "labels from the enrolment; labels of a target block have precedence"},
		{Name: "waits", Type: cty.Set(cty.String), Doc: "directories of modules that must wait; they may be missing"},
		{Name: "environment", Type: mapping,
			Doc: "environment that a user of a hub created: name, and optionally parent, domain and vars"},
		{Name: "tests_for", Type: cty.DynamicPseudoType,
			Doc: "environments that users of a hub created, and whose checks the target can test: name, parent and domain"},
	}
}
