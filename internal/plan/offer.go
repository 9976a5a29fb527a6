package plan

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// comes returns true for a change that installs a package from the archives of apt, or another
// version of it. A rollback restores earlier versions instead.
func (p *Plan) comes(c Change) bool {
	return p.Operation == journal.OpApply && c.Action != Remove && c.installsVersion()
}

// OfferIndexes returns the indexes of the changes whose packages apt must offer, except packages from a
// source that an earlier step changes.
func (p *Plan) OfferIndexes() []int {
	var out []int
	for i, c := range p.Changes {
		if p.comes(c) && p.sourceOf(i) == "" {
			out = append(out, i)
		}
	}
	return out
}

// sourceOf returns the earlier change that may change the offers of apt for change i: a file below
// /etc/apt, or a command that fetches the package lists. It returns "" if there is none.
func (p *Plan) sourceOf(i int) addr.Addr {
	for _, c := range p.Changes[:i] {
		if !c.Action.Mutates() {
			continue
		}
		command := c.Addr.Kind() == addr.KindExec || c.Addr.Kind() == addr.KindAct
		line := c.Step.String()
		fetches := command && (strings.Contains(line, "apt-get update") || strings.Contains(line, "apt update"))
		if fetches || strings.HasPrefix(c.Addr.Path(), "/etc/apt/") {
			return c.Addr
		}
	}
	return ""
}

// AddOffers adds the versions and dependencies that apt offers to the plan. The diagnostics are packages
// and versions that apt does not have.
func (p *Plan) AddOffers(o host.PackageOffers) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		if !p.comes(*c) {
			continue
		}
		if by := p.sourceOf(i); by != "" {
			c.noted(fmt.Sprintf("the version is known after apply: %s may change the versions in apt", by))
			continue
		}
		offer, told := o.By[c.Addr.Name()]
		switch {
		case !told:
		case offer.Unknown == "":
			c.noted("version " + offer.Version)
		case o.NoLists:
			c.noted("the version is known after apply: apt has no package lists on this host; " +
				"without a step that fetches them, run apt-get update there first")
		default:
			problems = append(problems, diag.Diagnostic{Summary: "This package cannot be installed",
				Detail: offer.Unknown, Range: sourceRange(c.Source), Line: c.Step.String()})
		}
	}
	if coming := p.OfferIndexes(); len(coming) > 0 && len(problems) == 0 {
		p.Changes[coming[0]].noted(alongWith(len(coming), o))
	}
	return problems
}

// alongWith describes the dependencies of n packages and the size of the download.
func alongWith(n int, o host.PackageOffers) string {
	if o.Failure != "" {
		return "apt cannot install it now: " + o.Failure
	}
	whom := "it"
	if n > 1 {
		whom = fmt.Sprintf("the %d new packages", n)
	}
	out := ""
	if len(o.Additional) > 0 {
		out = fmt.Sprintf("with %s apt installs %d dependencies", whom, len(o.Additional))
		if len(o.Additional) == 1 {
			out = fmt.Sprintf("with %s apt installs 1 dependency", whom)
		}
	}
	if o.Download > 0 {
		if out != "" {
			out += ", "
		}
		out += "to download: " + size(o.Download)
	}
	return out
}

// size formats a number of bytes.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units, f, i := []string{"kB", "MB", "GB"}, float64(n)/1000, 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
