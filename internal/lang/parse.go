package lang

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

// parseDirectory reads the configuration files of a directory, in the order of their names.
func (p *Program) parseDirectory(f *directory, top bool) (*body, diag.List) {
	return p.parseFiles(f, "", top)
}

// parseFiles is like parseDirectory, but messages name the files with a prefix.
func (p *Program) parseFiles(f *directory, prefix string, top bool) (*body, diag.List) {
	b := newBody(f)
	entries, err := f.ReadDir(".")
	if err != nil {
		return b, diag.List{diag.Errorf(diag.Range{File: f.dir}, "Directory cannot be read", "%s", sentence(err))}
	}
	ps := &parser{prog: p, body: b, top: top}
	for _, e := range entries {
		form := formOf(path.Base(e.Path))
		if form == noForm {
			continue
		}
		if e.Type == repo.Symlink {
			ps.errorf(diag.Range{File: prefix + f.Source(e.Path)}, "File is a link",
				"fettle does not follow symbolic links in a repository. Replace the link with the file.")
			continue
		}
		if e.Type != repo.File {
			continue
		}
		src, err := f.ReadFile(e.Path)
		name := prefix + f.Source(e.Path)
		if err != nil {
			ps.errorf(diag.Range{File: name}, "File cannot be read", "%s", sentence(err))
			continue
		}
		b.files = append(b.files, name)
		ps.file(form, name, src)
	}
	ps.checkActions()
	ps.checkCommands()
	return b, ps.list
}

// parser turns blocks into a body.
type parser struct {
	reports
	prog *Program
	body *body
	top  bool
	in   *define // the define that the body belongs to
}

func (ps *parser) contents(b *hclsyntax.Body) {
	for _, a := range attributeOrder(b.Attributes) {
		ps.attribute(a)
	}
	for _, blk := range b.Blocks {
		ps.block(blk)
	}
}

// attribute reads an attribute outside of any block.
func (ps *parser) attribute(a *hclsyntax.Attribute) {
	switch {
	case ps.in == nil && ps.top && a.Name == "vars" && ps.prog.top.vars == nil:
		ps.prog.top.vars = a
	case ps.in == nil && ps.top && a.Name == "data" && ps.prog.top.data == nil:
		ps.prog.top.data = a
	case ps.in == nil && ps.top && a.Name == "merge" && ps.prog.top.merge == nil:
		ps.prog.top.merge = a
	case ps.in == nil && ps.top && a.Name == "layer" && ps.prog.top.layer == nil:
		ps.prog.top.layer = a
	case ps.in != nil && a.Name == "main":
		ps.in.main = ps.text(a.Expr, "main")
	case ps.in != nil && a.Name == "description":
		ps.in.doc = ps.text(a.Expr, "description")
	default:
		known := []string{}
		if ps.top {
			known = append(known, "vars", "data", "merge", "layer")
		}
		ps.errorf(rangeOf(a.NameRange), "Unexpected attribute",
			"%q cannot be set here: write attributes inside a block.%s", a.Name, Suggest(a.Name, known))
	}
}

func (ps *parser) block(b *hclsyntax.Block) {
	if summary, detail := ps.misplaced(b.Type); summary != "" {
		ps.errorf(rangeOf(b.DefRange()), summary, "%s", detail)
		return
	}
	switch b.Type {
	case "variable":
		ps.variable(b)
	case "locals":
		ps.locals(b)
	case "fact":
		ps.fact(b)
	case "define":
		ps.define(b)
	case "output":
		ps.output(b)
	case "lookup":
		ps.lookup(b)
	case "action":
		ps.action(b)
	case "command":
		ps.command(b)
	case "target":
		ps.target(b)
	case "enrolled":
		ps.enrolled(b)
	case "needs":
		ps.needs(b)
	case "exported":
		ps.exported(b)
	case "role":
		ps.role(b)
	case "target_group":
		ps.group(b)
	case "policy":
		ps.policyBlock(b, &ps.prog.top.policy)
	case "ssh":
		ps.sshBlock(b, &ps.prog.top.ssh)
	default:
		if d := ps.decl(b); d != nil {
			ps.body.decls = append(ps.body.decls, d)
		}
	}
}

// misplaced describes why a block of this type is not allowed here, "" if it is.
func (ps *parser) misplaced(block string) (summary, detail string) {
	top := ps.in == nil && ps.top
	switch block {
	case "test":
		return "Test among states", "Tests must be in separate files: modules/NAME/tests/*.hcl, or tests/*.hcl at the top of the repository."
	case "exported":
		if ps.in != nil || ps.top {
			return "Exported block outside of a module",
				"Only a module can declare values of other targets. Move the exported block into a file of the module."
		}
	case "needs":
		if ps.in != nil || ps.top {
			return "Needs block outside of a module",
				`Only a module can declare needs. Move the block into a file of the module. For a module that all other modules need, ` +
					`set layer = ["NAME"].`
		}
	}
	if top {
		return "", ""
	}
	switch block {
	case "command":
		return "Command inside a module",
			"A command selects targets, so it must be declared at the top of the repository. Inside a module, declare an action."
	case "target":
		return "Target inside a module", "Targets are declared at the top of the repository, in fettle.hcl."
	case "enrolled":
		return "Target inside a module", "Enrolled targets are declared at the top of the repository."
	case "role", "target_group":
		return "Level inside a module", "Roles and target groups are declared at the top of the repository, in fettle.hcl."
	case "policy":
		return "Policy inside a module", "A policy can be set at the top of the repository, in fettle.hcl, or inside a target."
	case "ssh":
		return "SSH inside a module", "An ssh block can be set at the top of the repository, in fettle.hcl, or inside a target or target_group."
	}
	return "", ""
}

// label returns the only label of a block; ok is false after a diagnostic.
func (ps *parser) label(b *hclsyntax.Block) (string, diag.Range, bool) {
	if b.Type == "resource" && len(b.Labels) == 2 {
		ps.errorf(rangeOf(b.DefRange()), "Unknown kind", "A state begins with its kind. Write %s %q { … }.", b.Labels[0], b.Labels[1])
		return "", diag.Range{}, false
	}
	if len(b.Labels) != 1 {
		ps.errorf(rangeOf(b.DefRange()), "Block needs one label", "Write %s \"NAME\" { … }.", b.Type)
		return "", diag.Range{}, false
	}
	r := rangeOf(b.LabelRanges[0])
	if l := b.Labels[0]; l == "" || strings.ContainsAny(l, "\x00\n\r") {
		ps.errorf(r, "Bad label", "A label must be one line of text, and not empty.")
		return "", r, false
	}
	return b.Labels[0], r, true
}

// text reads a constant string, in places that are read before any value is known.
func (ps *parser) text(e hclsyntax.Expression, what string) string {
	v, hds := e.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.String || !v.IsKnown() {
		ps.errorf(rangeOf(e.Range()), "String expected", "%s must be a constant string in quotes.", what)
		return ""
	}
	return v.AsString()
}

// only reports attributes and blocks that are not in the lists.
func (ps *parser) only(b *hclsyntax.Block, attrs, blocks []string) {
	for _, a := range attributeOrder(b.Body.Attributes) {
		if !contains(attrs, a.Name) {
			ps.errorf(rangeOf(a.NameRange), "Unknown attribute", "%s has no attribute %q.%s", oneOf(b.Type), a.Name, Suggest(a.Name, attrs))
		}
	}
	for _, sub := range b.Body.Blocks {
		if !contains(blocks, sub.Type) {
			ps.errorf(rangeOf(sub.TypeRange), "Unknown block", "%s has no block %q.%s", oneOf(b.Type), sub.Type, Suggest(sub.Type, blocks))
		}
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// typeOf reads a type such as string or list(string); any when e is nil.
func (ps *parser) typeOf(a *hclsyntax.Attribute) (cty.Type, *typeexpr.Defaults) {
	if a == nil {
		return cty.DynamicPseudoType, nil
	}
	t, d, hds := typeexpr.TypeConstraintWithDefaults(a.Expr)
	ps.add(fromHCL(hds)...)
	if hds.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	return t, d
}

func (ps *parser) variable(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	attrs := []string{"type", "default", "description", "merge", "file"}
	if b.Type == "param" {
		attrs = []string{"type", "default", "description", "secret"}
	}
	ps.only(b, attrs, []string{"validation"})
	if ps.in != nil && contains(metaAttributes(), name) {
		ps.errorf(r, "Reserved name",
			"%q is an attribute of every state, so a defined kind cannot have a variable with this name. Rename the variable.", name)
		return
	}
	if old, ok := ps.body.vars[name]; ok {
		ps.errorf(r, "Variable declared twice", "The variable %q is already declared at %s. Rename or remove one of the two.", name, old.rng)
		return
	}
	v := &variable{name: name, rng: r}
	v.typ, v.defaults = ps.typeOf(b.Body.Attributes["type"])
	if a := b.Body.Attributes["default"]; a != nil {
		v.def = a.Expr
	}
	if a := b.Body.Attributes["description"]; a != nil {
		v.description = ps.text(a.Expr, "description")
	}
	if a := b.Body.Attributes["merge"]; a != nil {
		v.merge = ps.text(a.Expr, "merge")
		ps.add(checkMerge(rangeOf(a.Expr.Range()), v.merge)...)
	}
	if a := b.Body.Attributes["file"]; a != nil {
		v.file = ps.fileVariable(a.Expr)
	}
	if v.secret = ps.boolOf(b.Body.Attributes, "secret", false); v.secret && v.typ != cty.String && v.typ != cty.DynamicPseudoType {
		ps.errorf(r, "Wrong type", "A secret parameter must be a string: write type = string.")
	}
	for _, sub := range b.Body.Blocks {
		ps.only(sub, []string{"condition", "error_message"}, nil)
		c, m := sub.Body.Attributes["condition"], sub.Body.Attributes["error_message"]
		if c == nil || m == nil {
			ps.errorf(rangeOf(sub.DefRange()), "Incomplete validation", "A validation needs a condition and an error_message.")
			continue
		}
		v.validations = append(v.validations, validation{c.Expr, m.Expr})
	}
	ps.body.vars[name] = v
}

func (ps *parser) locals(b *hclsyntax.Block) {
	if len(b.Labels) > 0 {
		ps.errorf(rangeOf(b.LabelRanges[0]), "Unexpected label", "A locals block has no label. Write locals { name = value }.")
	}
	for _, sub := range b.Body.Blocks {
		ps.errorf(rangeOf(sub.TypeRange), "Unknown block", "A locals block can contain only attributes: name = value.")
	}
	for _, a := range attributeOrder(b.Body.Attributes) {
		if old, ok := ps.body.locals[a.Name]; ok {
			ps.errorf(rangeOf(a.NameRange), "Local declared twice",
				"The local %q is already declared at %s. Rename or remove one of the two.", a.Name, rangeOf(old.NameRange))
			continue
		}
		ps.body.locals[a.Name] = a
	}
}

func (ps *parser) fact(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"type", "default", "description"}, nil)
	if old, ok := ps.body.facts[name]; ok {
		ps.errorf(r, "Fact declared twice", "The fact %q is already declared at %s. Remove one of the two.", name, old.rng)
		return
	}
	ps.checkFact(name, r)
	f := &fact{name: name, rng: r}
	f.typ, _ = ps.typeOf(b.Body.Attributes["type"])
	if a := b.Body.Attributes["default"]; a != nil {
		f.def = a.Expr
	}
	ps.body.facts[name] = f
}

func (ps *parser) define(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	old := ps.body.defines[name]
	switch {
	case ps.in != nil:
		ps.errorf(r, "Define inside a define", "A define block cannot contain another one. Move it out of the outer block.")
		return
	case !hclsyntax.ValidIdentifier(name) || contains(reservedNames(), name):
		ps.errorf(r, "Bad name for a kind",
			"%q cannot be the name of a kind. Use letters, digits, _ and -. Reserved words of the language are not allowed.", name)
		return
	case ps.prog.kinds[name] != nil || ps.prog.library.has(name) && !ps.body.directory.builtin:
		ps.errorf(r, "Kind exists already", "%q is a built-in kind. Choose a different name.", name)
		return
	case old != nil:
		ps.errorf(r, "Kind defined twice", "The kind %q is already defined at %s. Rename or remove one of the two.", name, old.rng)
		return
	}
	d := &define{name: name, rng: r, body: newBody(ps.body.directory)}
	inner := &parser{prog: ps.prog, body: d.body, in: d}
	inner.contents(b.Body)
	ps.add(inner.list...)
	if d.main != "" && d.body.vars[d.main] == nil {
		ps.errorf(r, "Unknown main variable", "main = %q must name a variable of the kind. This variable gets the label of the state.", d.main)
	}
	ps.checkOutputs(d)
	ps.body.defines[name] = d
}

// headerOf returns the position of a block. In other forms than HCL, one key can contain many
// labels; then the position is the label's.
func headerOf(b *hclsyntax.Block) diag.Range {
	if b.OpenBraceRange.Filename == "" && len(b.LabelRanges) > 0 {
		return rangeOf(b.LabelRanges[0])
	}
	return rangeOf(b.DefRange())
}

// decl reads a state, or a block of states.
func (ps *parser) decl(b *hclsyntax.Block) *decl {
	name, r, ok := ps.label(b)
	if !ok {
		return nil
	}
	d := &decl{kind: b.Type, label: name, rng: headerOf(b), kindRng: rangeOf(b.TypeRange), attrs: b.Body.Attributes, group: b.Type == "block"}
	d.labels = []diag.Range{r}
	for _, a := range attributeOrder(b.Body.Attributes) {
		d.names = append(d.names, a.Name)
	}
	if !d.group {
		d.blocks = b.Body.Blocks
		return d
	}
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "variable", "locals", "fact", "define", "output", "lookup", "action", "command", "target", "role", "target_group", "enrolled", "needs", "exported", "policy", "ssh":
			ps.errorf(rangeOf(sub.TypeRange), "Unexpected block", "A block can contain only states. Move the %s out of the block.", sub.Type)
			continue
		}
		if m := ps.decl(sub); m != nil {
			d.members = append(d.members, m)
		}
	}
	return d
}
