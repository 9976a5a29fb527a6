package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/journal"
)

// needed keeps a package if packages that stay depend on it. If these packages are in the list or
// held, it stays managed until none of them needs it. If a step requires its absence, or if a package
// without a step needs it, the operator must decide.
func (c *Change) needed(op journal.Operation, a PackageAnswers, held map[string]bool) diag.List {
	by := a.Needed[c.Addr.Name()]
	if len(by) == 0 {
		return nil
	}
	wanted := c.Step.IsZero() && !slices.ContainsFunc(by, func(n string) bool { return !a.claims(n) && !held[n] })
	detail := fmt.Sprintf("apt would also remove %s, which %s and which this plan does not remove; "+
		"fettle removes only packages that a step names: "+
		"remove %s first, or put package %q { ensure = \"absent\" } into the list",
		strings.Join(by, ", "), needs(by), strings.Join(by, ", "), by[0])
	if !wanted && (!c.Step.IsZero() || op == journal.OpRollback) && !(op == journal.OpRollback && a.SkipBlocked) {
		return c.refused("This package cannot be removed", detail)
	}
	c.block()
	if c.Why = blockedWhy + detail; wanted {
		c.Needed = by
		c.Why = strings.Join(by, ", ") + " " + needs(by) + ", so it stays until no package needs it"
	}
	return nil
}

func needs(by []string) string {
	if len(by) == 1 {
		return "needs it"
	}
	return "need it"
}

// alongside notes which other packages the change removes, restores or leaves. A package that was
// installed with several of the removed packages is noted at the first of them.
func (c *Change) alongside(a PackageAnswers, told map[string]bool) {
	if !c.packageChange() {
		return
	}
	var goes []string
	stays := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Along)) {
		was, own := c.To.Package().AlsoChanged[name]
		one := a.Along[name]
		if told[name] || !own && !(one.Other && c.removesPackage()) {
			continue
		}
		told[name] = true
		if one.StayReason != "" {
			stays[one.StayReason] = append(stays[one.StayReason], name)
			continue
		}
		goes = append(goes, goesTo(name, one.Version, was))
		if left := a.Remains[name]; left.String() != "" {
			stay, _ := left.Stay()
			goes = append(goes, fmt.Sprintf("the %s of %s %s", left, name, stay))
		}
	}
	if len(goes) > 0 {
		c.noted(strings.Join(goes, ", "))
	}
	for _, why := range slices.Sorted(maps.Keys(stays)) {
		c.noted("stays: " + strings.Join(stays[why], ", ") + ": " + why)
	}
}

func goesTo(name, now, then string) string {
	switch {
	case then == "":
		return name + " is also removed"
	case now == "":
		return name + " " + then + " is installed again"
	}
	return name + " is restored from " + now + " to " + then
}

// AddPackageAnswers adds the answers of dpkg and apt to the package changes of the plan. The diagnostics are
// removals that would also remove packages without a step.
func (p *Plan) AddPackageAnswers(a PackageAnswers) diag.List {
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
		case c.removesPackage() && c.To.Package().Purged:
			c.purges(a)
		case c.removesPackage():
			c.leaves(a)
		case c.Applied.Purged():
			c.noted("it was purged: its earlier configuration and data cannot be restored")
		}
	}
	return problems
}
