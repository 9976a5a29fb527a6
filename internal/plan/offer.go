package plan

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// comes tells whether the change installs a package, or another version of it, from
// apt's archive. A rollback goes back to versions that were there.
func (p *Plan) comes(c Change) bool {
	return p.Operation == journal.OpApply && c.packageChange() && c.Action != Remove && c.To.Package.Version != "" && c.To.Package.Version != c.From.Package.Version
}

// Coming are the indexes of the changes whose packages apt must have, apart from those
// that come from a source which an earlier step changes.
func (p *Plan) Coming() []int {
	var out []int
	for i, c := range p.Changes {
		if p.comes(c) && p.sourceOf(i) == "" {
			out = append(out, i)
		}
	}
	return out
}

// sourceOf is the earlier change that may change what apt offers to change i: of a file
// below /etc/apt, or a command that fetches the lists. It is "" if there is none.
func (p *Plan) sourceOf(i int) addr.Addr {
	for _, c := range p.Changes[:i] {
		if !c.Action.Mutates() {
			continue
		}
		fetches := (c.Addr.Kind() == addr.KindExec || c.Addr.Kind() == addr.KindAct) && (strings.Contains(c.Step, "apt-get update") || strings.Contains(c.Step, "apt update"))
		if fetches || strings.HasPrefix(c.Addr.Path(), "/etc/apt/") {
			return c.Addr
		}
	}
	return ""
}

// Offered adds what apt offers for the packages that come. The diagnostics are packages
// and versions that it does not know.
func (p *Plan) Offered(o host.PackageOffers) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		if !p.comes(*c) {
			continue
		}
		if by := p.sourceOf(i); by != "" {
			c.noted(fmt.Sprintf("the version is known after apply: %s may change what apt offers", by))
			continue
		}
		offer, told := o.By[c.Addr.Name()]
		switch {
		case !told:
		case offer.Unknown == "":
			c.noted("version " + offer.Version)
		case o.NoLists:
			c.noted("the version is known after apply: apt has no package lists on this host; without a step that fetches them, run apt-get update there first")
		default:
			problems = append(problems, diag.Diagnostic{Summary: "This package cannot be installed", Detail: offer.Unknown, Range: sourceRange(c.Source), Line: c.Step})
		}
	}
	if coming := p.Coming(); len(coming) > 0 && len(problems) == 0 {
		p.Changes[coming[0]].noted(alongWith(len(coming), o))
	}
	return problems
}

// alongWith says what comes with n packages, and how much apt fetches.
func alongWith(n int, o host.PackageOffers) string {
	if o.Failure != "" {
		return "apt cannot install it now: " + o.Failure
	}
	whom := "it"
	if n > 1 {
		whom = fmt.Sprintf("the %d new packages", n)
	}
	out := ""
	if len(o.Along) > 0 {
		out = fmt.Sprintf("with %s come %d dependencies", whom, len(o.Along))
		if len(o.Along) == 1 {
			out = fmt.Sprintf("with %s comes 1 dependency", whom)
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

// size is a number of bytes for people.
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
