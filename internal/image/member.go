package image

import "fettle.dev/fettle/internal/addr"

// Member is the membership of a user in a supplementary group.
type Member struct {
	Present bool `json:"present"`
}

// Member returns the membership in a group, or nil if the image has another type.
func (i Image) Member() *Member { return as[Member](i.Variant) }

func (*Member) stored() string { return "member" }

func (*Member) kind() addr.Kind { return addr.KindMember }

func (*Member) fresh() Variant { return new(Member) }

// Same implements Variant.
func (m Member) Same(other Variant) bool {
	o := as[Member](other)
	return o != nil && m == *o
}

// Absent implements Variant.
func (m Member) Absent() bool { return !m.Present }

// SealKey implements Variant.
func (Member) SealKey() string { return "" }

// Summary implements Variant.
func (m Member) Summary() string { return presence(m.Present) }

// Differences implements Variant.
func (m Member) Differences(before Variant, _ Names) []Difference {
	var d differ
	d.add("member", yes(valueOf[Member](before).Present), yes(m.Present))
	return d.out
}
