package eval

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/syntax"
)

// names is a tree of values by name, from which variables are made. An expression gets exactly the
// values that it names.
type names struct {
	leaf cty.Value
	kids map[string]*names
}

func (n *names) set(path []string, v cty.Value) {
	for _, p := range path {
		if n.leaf != cty.NilVal {
			return // already complete
		}
		if n.kids == nil {
			n.kids = map[string]*names{}
		}
		if n.kids[p] == nil {
			n.kids[p] = &names{}
		}
		n = n.kids[p]
	}
	n.leaf = v
}

func (n *names) value() cty.Value {
	if n.leaf != cty.NilVal {
		return n.leaf
	}
	m := make(map[string]cty.Value, len(n.kids))
	for k, kid := range n.kids {
		m[k] = kid.value()
	}
	return cty.ObjectVal(m)
}

// traversalText returns a reference in its source form.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for i := range t {
		n, ok := syntax.StepName(t, i)
		switch {
		case i == 0:
			b.WriteString(t.RootName())
		case ok:
			b.WriteString("." + n)
		}
	}
	return b.String()
}
