package plan

import (
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// PackageAnswers has the data of dpkg and apt about the package changes of a plan.
type PackageAnswers struct {
	// Remains has the files that stay, or are purged, of each package in PackagesRemoved.
	Remains map[string]image.Remains
	// Unknown is the reason why Remains could not be read, or "".
	Unknown string
	// Along has the changes of packages that were installed with packages of the plan, by name.
	Along map[string]AlongsideChange
	// Needed has, for each package in PackagesRemoved, the packages that depend on it and that the plan does not
	// remove.
	Needed map[string][]string
	// Claimed reports whether the list contains a package. SkipBlocked is that field of Input.
	Claimed     func(name string) bool
	SkipBlocked bool
}

// AlongsideChange is the change of a package that was installed or changed together with another package.
type AlongsideChange struct {
	Version    string // now; "" if it is not installed
	StayReason string // the reason why it stays, or ""
	Other      bool   // it was installed with a package that the plan does not change
}

func (a PackageAnswers) claims(name string) bool { return a.Claimed != nil && a.Claimed(name) }

// PackagesRemoved returns the packages that the plan removes or purges.
func (p *Plan) PackagesRemoved() []string {
	var out []string
	for _, c := range p.Changes {
		if c.removesPackage() {
			out = append(out, c.Addr.Name())
		}
	}
	return out
}

// removesPackage reports whether the change removes or purges a package.
func (c Change) removesPackage() bool {
	return c.packageChange() && c.To.Package().Version == "" && (c.From.Package().Version != "" || c.To.Package().Purged)
}

func (c Change) packageChange() bool {
	return c.Addr.Kind() == addr.KindPkg && c.Action.Mutates() &&
		c.From != nil && c.To != nil && c.From.Package() != nil && c.To.Package() != nil
}

// installsVersion reports whether a change installs a version of a package that is not installed now.
func (c Change) installsVersion() bool {
	return c.packageChange() && c.To.Package().Version != "" && c.To.Package().Version != c.From.Package().Version
}

// Purges returns the changes that delete configuration or data of a package. An apply needs the
// explicit consent of the operator for them.
func (p *Plan) Purges() []Change {
	var out []Change
	for _, c := range p.Irreversible() {
		if c.packageChange() && c.To.Package().Purged {
			out = append(out, c)
		}
	}
	return out
}

// purges describes the data that a purge deletes permanently.
func (c *Change) purges(a PackageAnswers) {
	r := a.Remains[c.Addr.Name()]
	text := ""
	switch named := r.String(); {
	case a.Unknown != "":
		text = "the purge deletes its configuration and can delete its data; fettle could not list them: " + a.Unknown
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

// leaves describes the files that a removal leaves, and the command to delete them.
func (c *Change) leaves(a PackageAnswers) {
	name := c.Addr.Name()
	if a.Unknown != "" {
		c.noted("fettle could not list the files that stay: " + a.Unknown)
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
