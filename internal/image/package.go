package image

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// Candidate means "the version that apt chooses" in a desired image.
const Candidate = "(candidate)"

// Package is the state of a package in dpkg and apt.
type Package struct {
	Version string `json:"version,omitempty"` // "" if it is not installed
	// Status is the status abbreviation of dpkg without the error flag, for example "ii", "rc", "iU".
	// It is "" if dpkg has no record of the package.
	Status string `json:"status,omitempty"`
	Held   bool   `json:"held,omitempty"`
	Auto   bool   `json:"auto,omitempty"` // installed as a dependency only
	// DebStored reports that the .deb of Version is stored, so that the version can be restored.
	DebStored bool `json:"kept,omitempty"`
	// Purged requests, for an absent package, that its configuration and data are deleted too. It is
	// set in desired images only.
	Purged bool `json:"purged,omitempty"`
	// AlsoChanged are the packages that the same transaction added or changed, so that the undo can restore
	// them. The value is the version before, or "" if the package was not installed.
	AlsoChanged map[string]string `json:"also,omitempty"`
	// AutoBefore are the packages that were marked as dependencies before, sorted. They are packages of
	// AlsoChanged, and packages whose mark the transaction changed.
	AutoBefore []string `json:"autos,omitempty"`
}

// Unfinished reports whether dpkg has begun but not completed a change of the package: half installed,
// unpacked, half configured, or with pending triggers.
func (p Package) Unfinished() bool {
	return len(p.Status) == 2 && strings.ContainsRune("HUFWt", rune(p.Status[1]))
}

// Rest reports whether the configuration of a removed package still exists.
func (p Package) Rest() bool {
	return p.Version == "" && len(p.Status) == 2 && p.Status[1] == 'c'
}

// purgeable reports whether p has remaining configuration that desired deletes.
func (p Package) purgeable(desired Package) bool { return desired.Purged && p.Rest() }

// Leaving reports whether an installed package is marked for removal, by a user or by an interrupted
// removal.
func (p Package) Leaving() bool {
	return p.Version != "" && len(p.Status) == 2 && strings.ContainsRune("rp", rune(p.Status[0]))
}

// Condition describes the status letters of dpkg.
func (p Package) Condition() string {
	if len(p.Status) != 2 {
		return "not installed"
	}
	if p.Leaving() && !p.Unfinished() {
		return "marked for removal"
	}
	return map[byte]string{
		'H': "half installed", 'U': "unpacked, not configured", 'F': "half configured",
		'W': "waiting for triggers", 't': "triggers to process", 'i': "installed",
	}[p.Status[1]]
}

// Package returns the state of a package, or nil if the image has another type.
func (i Image) Package() *Package { return as[Package](i.Variant) }

func (*Package) stored() string { return "package" }

func (*Package) kind() addr.Kind { return addr.KindPkg }

func (*Package) fresh() Variant { return new(Package) }

// Same implements Variant. A package with configuration differs from a package that is purged.
func (p Package) Same(other Variant) bool {
	o := as[Package](other)
	return o != nil && p.Version == o.Version && p.Held == o.Held && p.Unfinished() == o.Unfinished() &&
		p.Leaving() == o.Leaving() && !p.purgeable(*o) && !o.purgeable(p)
}

// Absent implements Variant.
func (p Package) Absent() bool { return p.Version == "" }

// SealKey implements Variant.
func (Package) SealKey() string { return "" }

// Summary implements Variant.
func (p Package) Summary() string {
	if p.Version == "" {
		return "not installed"
	}
	return "version " + p.Version
}

// exact implements captured.
func (p Package) exact() bool {
	return len(p.AlsoChanged) > 0 || p.Version != "" && p.Version != Candidate
}

// Differences implements Variant.
func (p Package) Differences(before Variant, _ Names) []Difference {
	old := valueOf[Package](before)
	var d differ
	d.add("version", old.versionText(), p.versionText())
	d.add("held", yes(old.Held), yes(p.Held))
	if (old.Unfinished() || old.Leaving()) && p.Version != "" {
		d.add("state", old.Condition(), "installed")
	} else if old.Unfinished() && old.Version == "" {
		d.add("state", old.Condition(), "not installed")
	}
	return d.out
}

// versionText returns the version, or describes its absence.
func (p Package) versionText() string {
	switch {
	case p.Purged:
		return "purged"
	case p.Rest():
		return "removed, not purged"
	case p.Version == "":
		return "not installed"
	}
	return p.Version
}
