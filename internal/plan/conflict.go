package plan

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Displaced is a package that apt removes because it conflicts with a package of the plan.
type Displaced struct {
	By   string // the package of the plan that conflicts with it
	Name string
	// Lost reports that its .deb is not available, so it cannot be restored.
	Lost bool
}

// AddDisplaced adds the removal of conflicting packages to the plan. It returns a diagnostic for each
// removed package that the list also requires.
func (p *Plan) AddDisplaced(all []Displaced, claimed func(name string) bool) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		for _, d := range all {
			if !c.packageChange() || c.Addr.Name() != d.By {
				continue
			}
			if claimed(d.Name) {
				detail := fmt.Sprintf("apt would remove %s, which is also in the list, because it conflicts with %s. "+
					"Remove one of the two from the list.", d.Name, d.By)
				problems = append(problems, c.refused("This package conflicts with another", detail)...)
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
		c.noted(text + "; a rollback of this run installs it again")
		return
	}
	c.noted(text)
	lost := "; the .deb of " + d.Name + " is not available, so it cannot be restored"
	c.Irreversible = strings.TrimPrefix(c.Irreversible+lost, "; ")
}

// PackagesInstalled returns the packages that the plan installs or restores, except packages whose source an
// earlier step changes.
func (p *Plan) PackagesInstalled() []string {
	var out []string
	for i, c := range p.Changes {
		if c.installsVersion() && p.sourceOf(i) == "" {
			out = append(out, c.Addr.Name())
		}
	}
	return out
}
