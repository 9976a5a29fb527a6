package eval

import (
	"fettle.dev/fettle/internal/kind"
)

// attrNames lists the attributes of a kind.
func attrNames(k *kind.Kind) []string { return namesOf(k.Attrs) }

func namesOf(attrs []kind.Attr) []string {
	out := make([]string, len(attrs))
	for i, a := range attrs {
		out[i] = a.Name
	}
	return out
}

func attrOf(k *kind.Kind, name string) *kind.Attr { return attrIn(k.Attrs, name) }

func attrIn(attrs []kind.Attr, name string) *kind.Attr {
	for i := range attrs {
		if attrs[i].Name == name {
			return &attrs[i]
		}
	}
	return nil
}

func actionNames(k *kind.Kind) []string {
	out := make([]string, len(k.Actions))
	for i, a := range k.Actions {
		out[i] = a.Name
	}
	return out
}
