package image

import "fettle.dev/fettle/internal/addr"

// Sysctl is the value of a kernel setting.
type Sysctl struct {
	Present bool   `json:"present"`
	Value   string `json:"value,omitempty"`
}

// Sysctl returns the value of a kernel setting, or nil if the image has another type.
func (i Image) Sysctl() *Sysctl { return as[Sysctl](i.Variant) }

func (*Sysctl) stored() string { return "sysctl" }

func (*Sysctl) kind() addr.Kind { return addr.KindSysctl }

func (*Sysctl) fresh() Variant { return new(Sysctl) }

// Same implements Variant.
func (s Sysctl) Same(other Variant) bool {
	o := as[Sysctl](other)
	return o != nil && s == *o
}

// Absent implements Variant: no step can remove a kernel setting.
func (Sysctl) Absent() bool { return false }

// SealKey implements Variant.
func (Sysctl) SealKey() string { return "" }

// Summary implements Variant.
func (s Sysctl) Summary() string { return s.Value }

// Differences implements Variant. Without an observed value there is nothing to compare.
func (s Sysctl) Differences(before Variant, _ Names) []Difference {
	var d differ
	if old := as[Sysctl](before); old != nil {
		d.add("value", old.Value, s.Value)
	}
	return d.out
}
