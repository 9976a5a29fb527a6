package image

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// Unit is the state of a unit in systemd.
type Unit struct {
	Loaded bool   `json:"loaded"`           // a unit file exists
	State  string `json:"state,omitempty"`  // enabled, disabled, static, masked, …
	Active string `json:"active,omitempty"` // active, inactive, failed, …
	Masked bool   `json:"masked,omitempty"`
	// Restarting reports that systemd restarts the unit again and again, because it does not stay up.
	// Only observations of a host have it, not recorded images.
	Restarting bool `json:"-"`
}

// Restarting is the value of Active for a unit that should run, but that systemd restarts again and
// again because it does not stay up.
const Restarting = "restarting"

// Enabled reports whether the unit starts at boot.
func (u Unit) Enabled() bool { return u.State == "enabled" || u.State == "enabled-runtime" }

// Unit returns the state of a unit, or nil if the image has another type.
func (i Image) Unit() *Unit { return as[Unit](i.Variant) }

func (*Unit) stored() string { return "unit" }

func (*Unit) kind() addr.Kind { return addr.KindUnit }

func (*Unit) fresh() Variant { return new(Unit) }

// Same implements Variant.
func (u Unit) Same(other Variant) bool {
	o := as[Unit](other)
	return o != nil && u == *o
}

// Absent implements Variant: a unit without a file still has a state, and masking creates such units.
func (Unit) Absent() bool { return false }

// SealKey implements Variant.
func (Unit) SealKey() string { return "" }

// Summary implements Variant.
func (u Unit) Summary() string { return strings.TrimSpace(u.State + " " + u.Active) }

// exact implements captured.
func (Unit) exact() bool { return true }

// Differences implements Variant.
func (u Unit) Differences(before Variant, _ Names) []Difference {
	old := valueOf[Unit](before)
	var d differ
	d.add("enabled", yes(old.Enabled()), yes(u.Enabled()))
	d.add("masked", yes(old.Masked), yes(u.Masked))
	d.add("active", old.Active, u.Active)
	return d.out
}
