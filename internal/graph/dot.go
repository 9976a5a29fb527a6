package graph

import (
	"fmt"
	"strings"
)

// DOT returns a graph in the language of Graphviz.
func DOT(g *Graph) []byte {
	g = g.clean()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n", quoted(g.Title))
	for i, n := range g.Nodes {
		text := printable(n.Label)
		if n.State.Mark != "" {
			text = n.State.Mark + " " + text
		}
		fmt.Fprintf(&b, "  n%d [label=%s, tooltip=%s];\n", i, quoted(text), quoted(n.Tip))
	}
	for _, e := range g.valid() {
		fmt.Fprintf(&b, "  n%d -> n%d%s;\n", e.From, e.To,
			[...]string{"", " [style=dashed]", " [style=dotted]", " [dir=none]"}[e.Style])
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// quoted returns a string of the language of Graphviz. A backslash is an escape sequence there.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable(text)) + `"`
}
