package source

import (
	"maps"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// String returns the name of the level in messages and in fettle explain.
func (l *Level) String() string {
	switch l.Kind {
	case "target", "repository":
		return l.Kind
	}
	return strings.ReplaceAll(l.Kind, "_", " ") + " " + l.Name
}

// levelAttrs are the attributes that roles, target groups and targets share.
func levelAttrs(more ...string) []string {
	return append([]string{"roles", "modules", "layer", "vars", "data", "merge", "description"}, more...)
}

// level reads the content that all levels have in common. attrs are the additional attributes of
// this level.
func (ps *parser) level(b *hclsyntax.Block, attrs ...string) (Level, bool) {
	name, r, ok := ps.label(b)
	if !ok {
		return Level{}, false
	}
	blocks := []string{"module"}
	if b.Type != "role" {
		blocks = append(blocks, "policy", "ssh")
	}
	ps.only(b, levelAttrs(attrs...), blocks)
	at := b.Body.Attributes
	l := Level{Kind: b.Type, Name: name, Range: r, Roles: at["roles"], Modules: at["modules"], Layer: at["layer"],
		Vars: at["vars"], Data: at["data"], Merge: at["merge"]}
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "module":
			ps.moduleUse(&l, sub)
		case "policy":
			ps.policyBlock(sub, &l.Policy)
		case "ssh":
			ps.sshBlock(sub, &l.SSH)
		}
	}
	return l, true
}

func (ps *parser) moduleUse(l *Level, b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"source", "vars", "for_each", "at_least"}, nil)
	u := &ModuleUse{Name: name, Range: r, Directory: path.Join("modules", name), Vars: map[string]ModuleVars{}}
	if a := b.Body.Attributes["vars"]; a != nil {
		u.Vars[l.String()] = ModuleVars{Attribute: a}
	}
	if at := b.Body.Attributes; at["for_each"] != nil || at["at_least"] != nil {
		u.generator = ps.generator(at, 0)
	}
	if a := b.Body.Attributes["source"]; a != nil {
		u.Directory, u.Range = ps.text(a.Expr, "source"), syntax.RangeOf(a.Expr.Range())
	}
	l.Uses = append(l.Uses, u)
}

// role reads a role: modules and variables that targets share.
func (ps *parser) role(b *hclsyntax.Block) {
	l, ok := ps.level(b)
	if !ok {
		return
	}
	if old := ps.prog.Roles[l.Name]; old != nil {
		ps.Errorf(l.Range, "Role declared twice", "The role %q is already declared at %s. Rename or remove one of the two.",
			l.Name, old.Range)
		return
	}
	ps.prog.Roles[l.Name] = &l
}

// LevelModules returns the modules that one level names.
func (p *Program) LevelModules(r *syntax.Reports, l *Level) []*ModuleUse {
	var uses []*ModuleUse
	for _, n := range p.EarlyNames(r, l, l.Modules) {
		uses = append(uses, &ModuleUse{Name: n.Text, Directory: path.Join("modules", n.Text), Range: n.Range,
			Vars: map[string]ModuleVars{}, From: []Given{{l.String(), n.Range}}})
	}
	for _, u := range l.Uses {
		if u.generator == nil {
			uses = append(uses, u.copy(l, l.Each))
			continue
		}
		made := p.instancesOf(l, u)
		r.Add(made.ds...)
		p.Record.Use(made.files)
		for _, x := range made.uses {
			uses = append(uses, x.copy(l, x.Each))
		}
	}
	return uses
}

// copy returns a module for one target, because several targets share roles. each is the element for its variables.
func (u *ModuleUse) copy(l *Level, each *Element) *ModuleUse {
	own := *u
	own.Vars, own.From = maps.Clone(u.Vars), []Given{{l.String(), u.Range}}
	if own.Vars == nil { // of a test
		own.Vars = map[string]ModuleVars{}
	}
	for by, v := range own.Vars {
		own.Vars[by] = ModuleVars{v.Attribute, each}
	}
	return &own
}
