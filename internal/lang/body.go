package lang

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// body is the content of a module or a defined kind.
type body struct {
	directory *directory
	files     []string
	vars      map[string]*variable
	locals    map[string]*hclsyntax.Attribute
	facts     map[string]*fact
	defines   map[string]*define
	outputs   map[string]*output
	actions   map[string]*action
	needs     []*need // of a module
	// exported has the module's declared inputs from other targets.
	exported map[string]*Exported
	decls    []*decl // in the order of declaration
}

type variable struct {
	name        string
	rng         diag.Range
	typ         cty.Type
	defaults    *typeexpr.Defaults
	def         hclsyntax.Expression // nil: must be given
	description string
	merge       string // how its values merge where a level does not set it
	file        bool   // it names a file of the module that uses the kind
	secret      bool   // of a parameter: its value is never shown
	validations []validation
}

type validation struct {
	condition, message hclsyntax.Expression
}

type fact struct {
	name string
	rng  diag.Range
	typ  cty.Type
	def  hclsyntax.Expression
}

// define is a kind written in the language.
type define struct {
	name   string
	rng    diag.Range
	body   *body
	main   string
	doc    string
	stdlib bool
	kind   *kind.Kind // its schema, for look-ups of attributes
}

// decl is one state block, or a block of them.
type decl struct {
	kind    string
	label   string
	rng     diag.Range // of the header
	kindRng diag.Range // of the name of the kind
	labels  []diag.Range
	attrs   map[string]*hclsyntax.Attribute
	blocks  []*hclsyntax.Block // blocks inside a state, which are errors
	group   bool
	members []*decl
	names   []string // the attributes in the order of the text
}

func newBody(f *directory) *body {
	return &body{directory: f, vars: map[string]*variable{}, locals: map[string]*hclsyntax.Attribute{},
		facts: map[string]*fact{}, defines: map[string]*define{}, outputs: map[string]*output{}, actions: map[string]*action{}, exported: map[string]*Exported{}}
}

// metaAttributes are allowed on every state; kinds cannot have attributes with these names.
func metaAttributes() []string {
	return []string{"for_each", "when", "after", "before", "notify", "listen", "notify_failure", "listen_failure"}
}

// blockAttributes are allowed only on blocks.
func blockAttributes() []string { return []string{"rescue", "always"} }

// reservedNames begin references or blocks of their own, so no kind has them.
func reservedNames() []string {
	return []string{"variable", "locals", "fact", "define", "output", "lookup", "action", "command", "param", "part", "block", "target", "role", "target_group", "enrolled", "test", "module", "needs", "exported", "policy", "ssh", "var", "local", "each", "vars", "immediate"}
}

// attributeOrder returns a body's attributes in the order of the text; the parser stores them in a
// map.
func attributeOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
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

// schema returns the schema that a defined kind has for its users.
func (d *define) schema() *kind.Kind {
	if d.kind != nil {
		return d.kind
	}
	k := &kind.Kind{Name: d.name, Doc: d.doc, Main: d.main}
	names := make([]string, 0, len(d.body.vars))
	for n := range d.body.vars {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		v := d.body.vars[n]
		k.Attrs = append(k.Attrs, kind.Attr{Name: n, Type: v.typ, Required: v.def == nil, Doc: v.description, File: v.file})
	}
	for _, n := range sortedKeys(d.body.outputs) {
		k.Outputs = append(k.Outputs, kind.Attr{Name: n, Doc: d.body.outputs[n].description})
	}
	d.kind = k
	return k
}

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
