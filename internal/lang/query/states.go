package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
)

// DeclaredState is a state as the repository declares it, before it is evaluated for a target.
type DeclaredState struct {
	Directory string `json:"directory"` // of the module, "." for the top
	Kind      string `json:"kind"`
	// Names are the objects that it manages: its label, or the values of its main attribute, of path and of names. An
	// expression that only a target can evaluate is as written: /etc/${var.name}.conf.
	Names []string `json:"names"`
	File  string   `json:"file"`
	Line  int      `json:"line"`
}

// The limits of DeclaredStates. More states and names are left out, and longer names are cut.
const (
	MaxStates     = 20_000
	MaxStateNames = 50
	MaxStateName  = 300 // bytes
)

// DeclaredStates returns the states that the top and all modules declare, also in blocks and in defined kinds, by
// directory and position. Attributes that can contain a secret are left out.
func DeclaredStates(p *source.Program) ([]DeclaredState, diag.List) {
	c := stateCollector{program: p}
	ds := allBodies(p, c.body)
	return c.out, ds
}

type stateCollector struct {
	program *source.Program
	out     []DeclaredState
}

func (c *stateCollector) body(b *source.Body) {
	c.declarations(b, b.Decls)
	for _, d := range sortedDefines(b) {
		c.declarations(d.Body, d.Body.Decls)
	}
}

// sortedDefines returns the defined kinds of a body in the order of the text.
func sortedDefines(b *source.Body) []*source.Define {
	out := make([]*source.Define, 0, len(b.Defines))
	for _, d := range b.Defines {
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y *source.Define) int {
		return cmp.Or(cmp.Compare(x.Range.File, y.Range.File), cmp.Compare(x.Range.Start.Byte, y.Range.Start.Byte))
	})
	return out
}

func (c *stateCollector) declarations(b *source.Body, all []*source.Declaration) {
	for _, d := range all {
		if d.Group {
			c.declarations(b, d.Members)
			continue
		}
		if len(c.out) >= MaxStates {
			return
		}
		k, _, _ := c.program.FindKind(d.Kind, b) // an unknown kind has a label, too
		c.out = append(c.out, DeclaredState{Directory: b.Directory.Path, Kind: clipName(d.Kind), Names: c.names(d, k),
			File: d.Range.File, Line: d.Range.Start.Line})
	}
}

// names returns the names of a state, each once.
func (c *stateCollector) names(d *source.Declaration, k *kind.Kind) (out []string) {
	label, attributes := d.Label, []string{"names", "path"}
	if k != nil && k.Main != "" {
		attributes = append([]string{k.Main}, attributes...)
		if d.Attributes[k.Main] != nil {
			label = ""
		}
	}
	add := func(name string) {
		if name = clipName(name); name != "" && len(out) < MaxStateNames && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	add(label)
	for _, name := range attributes {
		if a := d.Attributes[name]; a != nil && !mayBeSecret(k, name) {
			for _, text := range c.texts(a.Expr) {
				add(text)
			}
		}
	}
	if len(out) == 0 {
		add(d.Label)
	}
	return out
}

func mayBeSecret(k *kind.Kind, name string) bool {
	return k != nil && slices.ContainsFunc(k.Attrs, func(a kind.Attr) bool { return a.Name == name && a.Secret })
}

// texts returns the values of an expression, or the expression as written.
func (c *stateCollector) texts(e hclsyntax.Expression) []string {
	if len(e.Variables()) == 0 {
		if v, ds := e.Value(c.program.Pure); !ds.HasErrors() {
			return textsOf(v)
		}
	}
	r := e.Range()
	src := c.program.Sources[r.Filename]
	if r.Start.Byte < 0 || r.Start.Byte > r.End.Byte || r.End.Byte > len(src) {
		return nil
	}
	return []string{strings.Trim(string(src[r.Start.Byte:r.End.Byte]), `"`)}
}

// textsOf returns the texts of a text or of a list of texts.
func textsOf(v cty.Value) (out []string) {
	if v.IsMarked() || !v.IsWhollyKnown() || v.IsNull() {
		return nil
	}
	if v.Type() == cty.String {
		return []string{v.AsString()}
	}
	if t := v.Type(); t.IsTupleType() || t.IsListType() || t.IsSetType() {
		for _, each := range v.AsValueSlice() {
			if each.Type() == cty.String && !each.IsMarked() && each.IsKnown() && !each.IsNull() {
				out = append(out, each.AsString())
			}
		}
	}
	return out
}

// clipName cuts a name between two runes.
func clipName(name string) string {
	for len(name) > MaxStateName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return strings.ToValidUTF8(name, "?")
}
