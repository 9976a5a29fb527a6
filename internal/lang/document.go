package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front"
)

// document converts the tree of a front end to the tree of the HCL parser. All later stages are the
// same for all forms.
type document struct{ reports }

// bodyKind is the kind of content of a mapping. It decides which keys are attributes. The kinds of
// states are unknown while files are read. Where states are allowed, all but a few names are
// therefore blocks.
type bodyKind uint8

const (
	topBody bodyKind = iota
	moduleBody
	defineBody
	blockBody
	targetBody
	variableBody
	actionBody
	commandBody
	testsBody // a file of tests
	testBody
	validationBody
	stateBody
	plainBody // attributes only
)

// isBlock reports whether a key begins a block.
func (k bodyKind) isBlock(key string) bool {
	switch k {
	case topBody:
		return key != "vars" && key != "data" && key != "merge" && key != "layer"
	case moduleBody:
		return true
	case defineBody:
		return key != "main" && key != "description"
	case blockBody:
		return !contains(metaAttributes(), key) && !contains(blockAttributes(), key)
	case targetBody:
		return key == "module" || key == "policy" || key == "ssh"
	case variableBody:
		return key == "validation"
	case actionBody:
		return key == "param"
	case commandBody:
		return key == "param" || key == "part"
	case testsBody:
		return true
	case testBody:
		return key == "expect"
	}
	return false
}

// inside returns the kind of content of a block of this type.
func inside(block string) bodyKind {
	switch block {
	case "variable", "fact", "param", "output":
		return variableBody
	case "action":
		return actionBody
	case "command":
		return commandBody
	case "validation":
		return validationBody
	case "locals", "policy", "ssh", "module", "expect", "lookup", "part", "needs", "exported", "enrolled":
		return plainBody
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
	return block == "locals" || block == "policy" || block == "ssh" || block == "validation" || block == "expect"
}

func newSyntaxBody(r diag.Range) *hclsyntax.Body {
	return &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: toHCL(r), EndRange: toHCL(r)}
}

// toHCL converts a range to the parser's type.
func toHCL(r diag.Range) hcl.Range {
	pos := func(p diag.Pos) hcl.Pos { return hcl.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return hcl.Range{Filename: r.File, Start: pos(r.Start), End: pos(r.End)}
}

// fill reads a body: a mapping, or a list of mappings where the order of blocks
// of different types counts.
func (d *document) fill(b *hclsyntax.Body, n *front.Node, in bodyKind) {
	switch n.Kind {
	case front.Null:
	case front.List:
		for _, item := range n.Items {
			if item.Kind != front.Map {
				d.errorf(item.Range(), "Mapping expected", "A list of blocks must contain only mappings, and this element is a %s.", item.Kind)
				continue
			}
			d.fill(b, item, in)
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
		d.errorf(n.Range(), "Mapping expected", "This must be a mapping from names to values, and it is a %s.", n.Kind)
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
func (d *document) blocks(b *hclsyntax.Body, p front.Pair) {
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
			d.errorf(v.Range(), "Label expected",
				`This must be a label with a mapping, and it is a %s. Write %s: { "NAME": { … } }.`, v.Kind, p.Key.Text)
		}
	}
}

func (d *document) block(b *hclsyntax.Body, key, label, value *front.Node) {
	block := &hclsyntax.Block{Type: key.Text, TypeRange: toHCL(key.Range()), Body: newSyntaxBody(value.Range())}
	if label != nil {
		text, ok := d.label(label)
		if !ok {
			return
		}
		block.Labels, block.LabelRanges = []string{text}, []hcl.Range{toHCL(label.Range())}
	}
	in := inside(key.Text)
	if value.Kind != front.Map && value.Kind != front.Null && (value.Kind != front.List || in > testBody) {
		d.errorf(value.Range(), "Mapping expected",
			"A %s must be a mapping from names to values, and this is a %s. Write %s.", key.Text, value.Kind, shape(key.Text))
		return
	}
	d.fill(block.Body, value, in)
	b.Blocks = append(b.Blocks, block)
}

func shape(block string) string {
	if unlabelled(block) {
		return block + ": { NAME: VALUE }"
	}
	return block + ": { LABEL: { NAME: VALUE } }"
}

// label reads a constant string. As in quotes of HCL, $${ means the characters ${.
func (d *document) label(n *front.Node) (string, bool) {
	text := n.Text
	if n.Kind == front.Text {
		bare := strings.NewReplacer("$${", "", "%%{", "").Replace(text)
		if strings.Contains(bare, "${") || strings.Contains(bare, "%{") {
			d.errorf(n.Range(), "Template in a label",
				"A label cannot contain a template. Use a constant label, and set the attribute of the state to the template instead.")
			return "", false
		}
		text = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
	}
	return text, true
}

func (d *document) attribute(b *hclsyntax.Body, p front.Pair, in bodyKind) {
	r := toHCL(p.Key.Range())
	name := p.Key.Text
	if !hclsyntax.ValidIdentifier(name) {
		d.errorf(p.Key.Range(), "Bad name", "%s is not a valid name. Names consist of letters, digits, _ and -.", front.Quote(name))
		return
	}
	if old := b.Attributes[name]; old != nil {
		d.errorf(p.Key.Range(), "Attribute redefined",
			"The attribute %q is already set at %s. Remove one of the two.", name, rangeOf(old.NameRange))
		return
	}
	e := d.expression(p.Value, meaningOf(in, name))
	if e == nil {
		return
	}
	b.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: e, NameRange: r, EqualsRange: hcl.Range{Filename: r.Filename, Start: r.End, End: r.End},
		SrcRange: hcl.Range{Filename: r.Filename, Start: r.Start, End: e.Range().End}}
}

// meaning is the syntax of the texts in an attribute.
type meaning uint8

const (
	templates   meaning = iota
	expressions         // the text itself is an expression, texts inside it are templates
	references          // every text in it is a reference
)

func meaningOf(in bodyKind, name string) meaning {
	switch {
	case in == variableBody && name == "type", in == validationBody && name == "condition":
		return expressions
	case in != stateBody && in != blockBody:
		return templates
	case name == "when" || name == "for_each":
		return expressions
	case slices.Contains(metaAttributes(), name), in == blockBody && contains(blockAttributes(), name):
		return references
	}
	return templates
}
