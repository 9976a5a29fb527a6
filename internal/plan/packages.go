package plan

import (
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
)

// PackageAnswers is what dpkg and apt answer about the package changes of a plan.
type PackageAnswers struct {
	// Remains is what stays, or is purged, of each package in Going.
	Remains map[string]image.Remains
	// Unknown says why Remains could not be read, "" when it was.
	Unknown string
	// Along is what happens to the packages that came with those of the plan, by name.
	Along map[string]Along
	// Needed are the packages that each package in Going cannot go without, although
	// the plan does not remove them.
	Needed map[string][]string
	// Claimed tells whether the list wants a package; SkipBlocked is that of Input.
	Claimed     func(name string) bool
	SkipBlocked bool
}

// Along is what happens to a package that came with another, or was changed for it.
type Along struct {
	Version string // now, "" when it is not installed
	Stays   string // why it stays, "" when it does not
	Other   bool   // it came with a package that the plan does not change
}

func (a PackageAnswers) claims(name string) bool { return a.Claimed != nil && a.Claimed(name) }

// Going are the packages that the plan removes or purges.
func (p *Plan) Going() []string {
	var out []string
	for _, c := range p.Changes {
		if c.removesPackage() {
			out = append(out, c.Addr.Name())
		}
	}
	return out
}

// removesPackage tells whether the change removes or purges a package.
func (c Change) removesPackage() bool {
	return c.packageChange() && c.To.Package.Version == "" && (c.From.Package.Version != "" || c.To.Package.Purged)
}

func (c Change) packageChange() bool {
	return c.Addr.Kind() == addr.KindPkg && c.Action.Mutates() && c.From != nil && c.To != nil && c.From.Package != nil && c.To.Package != nil
}

// Purges lists the changes that delete configuration or data of a package. An
// apply needs the operator's explicit consent to them.
func (p *Plan) Purges() []Change {
	var out []Change
	for _, c := range p.Irreversible() {
		if c.packageChange() && c.To.Package.Purged {
			out = append(out, c)
		}
	}
	return out
}

// Tell adds what dpkg and apt answered to the package changes of the plan. The
// diagnostics are removals that would take along what no step names.
func (p *Plan) Tell(a PackageAnswers) diag.List {
	var problems diag.List
	told, held := map[string]bool{}, p.heldBack()
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.packageChange() {
			problems = append(problems, c.needed(p.Operation, a, held)...)
		}
		c.alongside(a, told)
		switch {
		case !c.packageChange():
		case c.removesPackage() && c.To.Package.Purged:
			c.purges(a)
		case c.removesPackage():
			c.leaves(a)
		case parse(c.Applied).Purged():
			c.noted("it was purged: the configuration and data that it had do not come back")
		}
	}
	return problems
}

// purges says what a purge deletes and that it does not come back.
func (c *Change) purges(a PackageAnswers) {
	r := a.Remains[c.Addr.Name()]
	text := ""
	switch named := r.String(); {
	case a.Unknown != "":
		text = "the purge deletes its configuration and can delete its data, and what there is could not be read: " + a.Unknown
	case named != "":
		text = "the purge deletes its " + named
	case r.Purges:
		text = "a script of the package runs at the purge and can delete its data"
	default:
		return
	}
	if c.Irreversible != "" {
		text += "; " + c.Irreversible
	}
	c.Irreversible = text
}

// leaves says what a removal leaves and how to delete it.
func (c *Change) leaves(a PackageAnswers) {
	name := c.Addr.Name()
	if a.Unknown != "" {
		c.noted("what stays of it could not be read: " + a.Unknown)
		return
	}
	left := a.Remains[name]
	if text := left.String(); text != "" {
		stay, it := left.Stay()
		c.noted(fmt.Sprintf("its %s %s; to delete %s: apt-get purge %s, or ensure = \"purged\"", text, stay, it, name))
	}
}

func (c *Change) noted(text string) {
	if text == "" {
		return
	}
	if c.Note != "" {
		text = c.Note + "; " + text
	}
	c.Note = text
}
