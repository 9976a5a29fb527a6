package syntax

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// AttributeOrder returns a body's attributes in the order of the text; the parser stores them in a
// map.
func AttributeOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	out := make([]*hclsyntax.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hclsyntax.Attribute) int {
		// Attributes of a program can have no text of their own.
		return cmp.Or(a.SrcRange.Start.Byte-b.SrcRange.Start.Byte, cmp.Compare(a.Name, b.Name))
	})
	return out
}

// NameSet returns the keys of a map as a set.
func NameSet[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

// StepName returns the n-th name of a traversal, after a dot or in brackets.
func StepName(t hcl.Traversal, n int) (string, bool) {
	if n >= len(t) {
		return "", false
	}
	switch s := t[n].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

// Names returns the keys of a map in any order.
func Names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// SortedNames returns the keys of a map, sorted.
func SortedNames[V any](m map[string]V) []string {
	out := Names(m)
	slices.Sort(out)
	return out
}
