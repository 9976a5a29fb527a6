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
	case "organization":
		organizationBlock{rolloutBlock{parser: ps}}.read(b)
	case "scope_kind", "scope", "cluster", "environment", "universe":
		ps.prog.scopeBlocks = append(ps.prog.scopeBlocks, b)
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

// misplaced describes why a block of this type is not allowed here, "" if it is.
func (ps *parser) misplaced(block string) (summary, detail string) {
	top := ps.in == nil && ps.top
	switch block {
	case "test":
		return "Test among states",
			"Tests must be in separate files: modules/NAME/tests/*.hcl, or tests/*.hcl at the top of the repository."
	case "task", "verify", "undo":
		return "Task outside of a scope", "A task belongs to a scope: write it inside a cluster or scope block."
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
	return onlyAtTop(block)
}

// onlyAtTop describes why a block must be at the top of the repository, "" for other blocks.
func onlyAtTop(block string) (summary, detail string) {
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
	case "rollout":
		return "Rollout inside a module",
			"A rollout selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "window":
		return "Window inside a module",
			"A window is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "lock":
		return "Lock inside a module",
			"A lock is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "barrier":
		return "Barrier inside a module",
			"A barrier selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "signal":
		return "Signal inside a module",
			"A signal is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "organization":
		return "Organization inside a module",
			"An organization is for targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "scope_kind", "scope", "cluster", "environment", "universe":
		return "Scope inside a module",
			"A scope selects targets, so it must be declared at the top of the repository, in fettle.hcl."
	case "policy":
		return "Policy inside a module",
			"A policy can be set at the top of the repository, in fettle.hcl, or inside a target."
	case "ssh":
		return "SSH inside a module",
			"An ssh block can be set at the top of the repository, in fettle.hcl, or inside a target or target_group."
	}
	return "", ""
}
