package plan

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Displaced is a package that apt removes, since it conflicts with one that comes.
type Displaced struct {
	By   string // the package of the plan that it conflicts with
	Name string
	// Lost tells that its .deb cannot be had, so that it cannot come back.
	Lost bool
}

// Displaces adds what goes since it conflicts with what comes. The diagnostics are
// packages that the list wants: it cannot have both.
func (p *Plan) Displaces(all []Displaced, claimed func(name string) bool) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		for _, d := range all {
			if !c.packageChange() || c.Addr.Name() != d.By {
				continue
			}
			if claimed(d.Name) {
				problems = append(problems, c.refused("This package conflicts with another", fmt.Sprintf("apt would remove %s, which the list wants too, because it conflicts with %s. Take one of the two out of the list.", d.Name, d.By))...)
				continue
			}
			c.displaces(d)
		}
	}
	return problems
}

func (c *Change) displaces(d Displaced) {
	text := fmt.Sprintf("apt removes %s, which conflicts with it", d.Name)
	if !d.Lost {
		c.noted(text + "; it comes back with a rollback of this run")
		return
	}
	c.noted(text)
	c.Irreversible = strings.TrimPrefix(c.Irreversible+"; the .deb of "+d.Name+" cannot be had, so it does not come back", "; ")
}

// Arriving are the packages that come, in any operation, apart from those of a source that
// an earlier step changes.
func (p *Plan) Arriving() []string {
	var out []string
	for i, c := range p.Changes {
		if c.packageChange() && c.To.Package.Version != "" && c.To.Package.Version != c.From.Package.Version && p.sourceOf(i) == "" {
			out = append(out, c.Addr.Name())
		}
	}
	return out
}
