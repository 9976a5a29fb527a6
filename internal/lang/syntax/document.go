// Package syntax reads the forms of the language into the tree of the HCL parser.
//
//	if ds := syntax.Guard(src, "fettle.hcl", syntax.ConfigSyntax); ds.HasErrors() {
//		return ds
//	}
//	f, hds := hclsyntax.ParseConfig(src, "fettle.hcl", hcl.InitialPos)
//
// Texts that would crash the parser, or whose display differs from their content, are refused first.
// Documents of other forms become the same tree, with the positions of their own file.
package syntax

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front"
)

// MetaAttributes are allowed on every state; kinds cannot have attributes with these names.
func MetaAttributes() []string {
	return []string{"for_each", "when", "after", "before", "notify", "listen", "notify_failure", "listen_failure", "lock"}
}

// BlockAttributes are allowed only on blocks.
func BlockAttributes() []string { return []string{"rescue", "always"} }

// Document converts the tree of a front end to the tree of the HCL parser. All later stages are the
// same for all forms.
type Document struct{ Reports }

// BodyKind is the kind of content of a mapping. It decides which keys are attributes. The kinds of
// states are unknown while files are read. Where states are allowed, all but a few names are
// therefore blocks.
type BodyKind uint8

// The kinds of content: of the top level, of a module, of a file of tests, and of blocks.
const (
	TopBody BodyKind = iota
	ModuleBody
	defineBody
	blockBody
	targetBody
	variableBody
	actionBody
	commandBody
	rolloutBody
	waveBody
	scopeBody
	taskBody
	TestsBody // a file of tests
	testBody
	validationBody
	stateBody
	plainBody // attributes only
	useBody   // of a module block
)

// isBlock reports whether a key begins a block.
func (k BodyKind) isBlock(key string) bool {
	switch k {
	case TopBody:
		return key != "vars" && key != "data" && key != "merge" && key != "layer"
	case ModuleBody:
		return key != "version" && key != "lock"
	case defineBody:
		return key != "main" && key != "description"
	case blockBody:
		return !slices.Contains(MetaAttributes(), key) && !slices.Contains(BlockAttributes(), key)
	case targetBody:
		return key == "module" || key == "policy" || key == "ssh"
	case variableBody:
		return key == "validation"
	case actionBody:
		return key == "param"
	case commandBody:
		return key == "param" || key == "part"
	case rolloutBody:
		return key == "wave" || key == "after"
	case waveBody:
		return key == "approval" || key == "compare" || key == "metric" || key == "webhook"
	case scopeBody:
		return key == "check" || key == "task"
	case taskBody:
		return key == "verify" || key == "undo"
	case TestsBody:
		return true
	case testBody:
		return key == "expect"
	}
	return false
}

// inside returns the kind of content of a block of this type.
func inside(block string) BodyKind {
	switch block {
	case "variable", "fact", "param", "output":
		return variableBody
	case "action":
		return actionBody
	case "command":
		return commandBody
	case "rollout":
		return rolloutBody
	case "wave":
		return waveBody
	case "scope", "cluster", "environment", "universe":
		return scopeBody
	case "task", "undo":
		return taskBody
	case "validation":
		return validationBody
	case "locals", "policy", "ssh", "expect", "lookup", "part", "needs", "exported", "enrolled", "after",
		"approval", "compare", "metric", "webhook", "scope_kind", "verify":
		return plainBody
	case "module":
		return useBody
	case "define":
		return defineBody
	case "block":
		return blockBody
	case "target", "role", "target_group":
		return targetBody
	case "test":
		return testBody
	}
	return stateBody
}

// unlabelled reports whether a type of block has no label.
func unlabelled(block string) bool {
	return block == "locals" || block == "policy" || block == "ssh" || block == "validation" || block == "expect" ||
		block == "verify" || block == "undo"
}

// NewBody returns an empty body with a position.
func NewBody(r diag.Range) *hclsyntax.Body {
	return &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: toHCL(r), EndRange: toHCL(r)}
}

// Fill reads a body: a mapping, or a list of mappings where the order of blocks
// of different types counts.
func (d *Document) Fill(b *hclsyntax.Body, n *front.Node, in BodyKind) {
	switch n.Kind {
	case front.Null:
	case front.List:
		for _, item := range n.Items {
			if item.Kind != front.Map {
				d.Errorf(item.Range(), "Mapping expected",
					"A list of blocks must contain only mappings, and this element is a %s.", item.Kind)
				continue
			}
			d.Fill(b, item, in)
		}
	case front.Map:
		for _, p := range n.Pairs {
			if in.isBlock(p.Key.Text) && blockValue(p) {
				d.blocks(b, p)
			} else {
				d.attribute(b, p, in)
			}
		}
	default:
		d.Errorf(n.Range(), "Mapping expected", "This must be a mapping from names to values, and it is a %s.", n.Kind)
	}
}

// blockValue reports whether a value can be the body of a block. Any other value is read as an
// attribute, and reported as one.
func blockValue(p front.Pair) bool {
	switch p.Value.Kind {
	case front.Map, front.List:
		return true
	case front.Null:
		return unlabelled(p.Key.Text)
	case front.Text, front.Literal:
		return !unlabelled(p.Key.Text)
	}
	return false
}

// blocks reads the blocks of one key: bodies, or labels with bodies. A key that occurs twice has a
// list of them.
func (d *Document) blocks(b *hclsyntax.Body, p front.Pair) {
	values := []*front.Node{p.Value}
	if p.Value.Kind == front.List {
		values = p.Value.Items
	}
	for _, v := range values {
		switch {
		case unlabelled(p.Key.Text):
			d.block(b, p.Key, nil, v)
		case v.Kind == front.Text || v.Kind == front.Literal:
			d.block(b, p.Key, v, &front.Node{Kind: front.Null, Src: v.Src, Start: v.End, End: v.End})
		case v.Kind == front.Map:
			for _, labelled := range v.Pairs {
				d.block(b, p.Key, labelled.Key, labelled.Value)
			}
		default:
			d.Errorf(v.Range(), "Label expected",
				`This must be a label with a mapping, and it is a %s. Write %s: { "NAME": { … } }.`, v.Kind, p.Key.Text)
		}
	}
}

func (d *Document) block(b *hclsyntax.Body, key, label, value *front.Node) {
	block := &hclsyntax.Block{Type: key.Text, TypeRange: toHCL(key.Range()), Body: NewBody(value.Range())}
	if label != nil {
		text, ok := d.label(label)
		if !ok {
			return
		}
		block.Labels, block.LabelRanges = []string{text}, []hcl.Range{toHCL(label.Range())}
	}
	in := inside(key.Text)
	if value.Kind != front.Map && value.Kind != front.Null && (value.Kind != front.List || in > testBody) {
		d.Errorf(value.Range(), "Mapping expected",
			"A %s must be a mapping from names to values, and this is a %s. Write %s.", key.Text, value.Kind, shape(key.Text))
		return
	}
	d.Fill(block.Body, value, in)
	b.Blocks = append(b.Blocks, block)
}

func shape(block string) string {
	if unlabelled(block) {
		return block + ": { NAME: VALUE }"
	}
	return block + ": { LABEL: { NAME: VALUE } }"
}

// label reads a constant string. As in quotes of HCL, $${ means the characters ${.
func (d *Document) label(n *front.Node) (string, bool) {
	text := n.Text
	if n.Kind == front.Text {
		bare := strings.NewReplacer("$${", "", "%%{", "").Replace(text)
		if strings.Contains(bare, "${") || strings.Contains(bare, "%{") {
			d.Errorf(n.Range(), "Template in a label",
				"A label cannot contain a template. Use a constant label, and set the attribute of the state to the template instead.")
			return "", false
		}
		text = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
	}
	return text, true
}

func (d *Document) attribute(b *hclsyntax.Body, p front.Pair, in BodyKind) {
	r := toHCL(p.Key.Range())
	name := p.Key.Text
	if !hclsyntax.ValidIdentifier(name) {
		d.Errorf(p.Key.Range(), "Bad name", "%s is not a valid name. Names consist of letters, digits, _ and -.",
			front.Quote(name))
		return
	}
	if old := b.Attributes[name]; old != nil {
		d.Errorf(p.Key.Range(), "Attribute redefined",
			"The attribute %q is already set at %s. Remove one of the two.", name, RangeOf(old.NameRange))
		return
	}
	e := (&valueReader{&d.Reports}).expression(p.Value, meaningOf(in, name))
	if e == nil {
		return
	}
	b.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: e, NameRange: r,
		EqualsRange: hcl.Range{Filename: r.Filename, Start: r.End, End: r.End},
		SrcRange:    hcl.Range{Filename: r.Filename, Start: r.Start, End: e.Range().End}}
}

func meaningOf(in BodyKind, name string) meaning {
	switch {
	case in == variableBody && name == "type", in == validationBody && name == "condition":
		return expressions
	case in == taskBody && name == "after":
		return references
	case (in == targetBody || in == useBody || in == scopeBody) && name == "for_each":
		return expressions
	case in != stateBody && in != blockBody:
		return templates
	case name == "when" || name == "for_each":
		return expressions
	case name == "lock":
		return templates
	case slices.Contains(MetaAttributes(), name), in == blockBody && slices.Contains(BlockAttributes(), name):
		return references
	}
	return templates
}
