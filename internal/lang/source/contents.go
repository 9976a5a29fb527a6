package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// InLibrary reports whether the library has a kind, without parsing it.
func (p *Program) InLibrary(kind string) bool { return p.library.file[kind] != "" }

func (ps *parser) contents(b *hclsyntax.Body) {
	for _, a := range syntax.AttributeOrder(b.Attributes) {
		ps.attribute(a)
	}
	for _, blk := range b.Blocks {
		ps.block(blk)
	}
}

// attribute reads an attribute outside of any block.
func (ps *parser) attribute(a *hclsyntax.Attribute) {
	switch {
	case ps.in == nil && ps.top && a.Name == "vars" && ps.prog.Top.Vars == nil:
		ps.prog.Top.Vars = a
	case ps.in == nil && ps.top && a.Name == "data" && ps.prog.Top.Data == nil:
		ps.prog.Top.Data = a
	case ps.in == nil && ps.top && a.Name == "merge" && ps.prog.Top.Merge == nil:
		ps.prog.Top.Merge = a
	case ps.in == nil && ps.top && a.Name == "layer" && ps.prog.Top.Layer == nil:
		ps.prog.Top.Layer = a
	case ps.in == nil && !ps.top && a.Name == "version":
		ps.version(a)
	case ps.in == nil && !ps.top && a.Name == "lock":
		ps.moduleLock(a)
	case ps.in != nil && a.Name == "main":
		ps.in.main = ps.text(a.Expr, "main")
	case ps.in != nil && a.Name == "description":
		ps.in.doc = ps.text(a.Expr, "description")
	default:
		known := []string{}
		if ps.top {
			known = append(known, "vars", "data", "merge", "layer")
		} else if ps.in == nil {
			known = append(known, "version", "lock")
		}
		ps.Errorf(syntax.RangeOf(a.NameRange), "Unexpected attribute",
			"%q cannot be set here: write attributes inside a block.%s", a.Name, syntax.Suggest(a.Name, known))
	}
}

func (ps *parser) block(b *hclsyntax.Block) {
	if summary, detail := ps.misplaced(b.Type); summary != "" {
		ps.Errorf(syntax.RangeOf(b.DefRange()), summary, "%s", detail)
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
	case "rollout":
		rolloutBlock{ps, &Strategy{}}.read(b)
	case "window":
		windowBlock{rolloutBlock{parser: ps}}.read(b)
	case "lock":
		lockBlock{rolloutBlock{parser: ps}}.read(b)
	case "barrier", "signal":
		waitBlock{rolloutBlock{parser: ps}}.read(b)
	case "scope_kind", "scope", "cluster":
		scopeBlock{rolloutBlock{parser: ps}}.read(b)
	case "policy":
		ps.policyBlock(b, &ps.prog.Top.Policy)
	case "ssh":
		ps.sshBlock(b, &ps.prog.Top.SSH)
	default:
		if d := ps.decl(b); d != nil {
			ps.body.Decls = append(ps.body.Decls, d)
		}
	}
}

func (ps *parser) define(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	old := ps.body.Defines[name]
	switch {
	case ps.in != nil:
		ps.Errorf(r, "Define inside a define", "A define block cannot contain another one. Move it out of the outer block.")
		return
	case !hclsyntax.ValidIdentifier(name) || slices.Contains(reservedNames(), name):
		ps.Errorf(r, "Bad name for a kind",
			"%q cannot be the name of a kind. Use letters, digits, _ and -. Reserved words of the language are not allowed.",
			name)
		return
	case ps.prog.kinds[name] != nil || ps.prog.InLibrary(name) && !ps.body.Directory.builtin:
		ps.Errorf(r, "Kind exists already", "%q is a built-in kind. Choose a different name.", name)
		return
	case old != nil:
		ps.Errorf(r, "Kind defined twice", "The kind %q is already defined at %s. Rename or remove one of the two.", name,
			old.Range)
		return
	}
	d := &Define{name: name, Range: r, Body: NewBody(ps.body.Directory)}
	inner := &parser{prog: ps.prog, body: d.Body, in: d}
	inner.contents(b.Body)
	ps.Add(inner.List...)
	if d.main != "" && d.Body.Vars[d.main] == nil {
		ps.Errorf(r, "Unknown main variable",
			"main = %q must name a variable of the kind. This variable gets the label of the state.", d.main)
	}
	ps.checkOutputs(d)
	ps.body.Defines[name] = d
}
