package image

import "fettle.dev/fettle/internal/addr"

// Group is a group of group(5).
type Group struct {
	Present bool              `json:"present"`
	GID     uint32            `json:"gid,omitempty"`
	Members []string          `json:"members,omitempty"`
	Lines   map[string]string `json:"lines,omitempty"` // group and gshadow
}

// Group returns the state of a group, or nil if the image has another type.
func (i Image) Group() *Group { return as[Group](i.Variant) }

func (*Group) stored() string { return "group" }

func (*Group) kind() addr.Kind { return addr.KindGroup }

func (*Group) fresh() Variant { return new(Group) }

// Same implements Variant. Members are addresses of their own.
func (g Group) Same(other Variant) bool {
	o := as[Group](other)
	return o != nil && g.Present == o.Present && g.GID == o.GID
}

// Absent implements Variant.
func (g Group) Absent() bool { return !g.Present }

// SealKey implements Variant.
func (Group) SealKey() string { return "" }

// Summary implements Variant.
func (g Group) Summary() string { return presence(g.Present) }

// exact implements captured.
func (g Group) exact() bool { return len(g.Lines) > 0 }

// Differences implements Variant.
func (g Group) Differences(before Variant, _ Names) []Difference {
	old := valueOf[Group](before)
	var d differ
	d.add("present", yes(old.Present), yes(g.Present))
	if g.Present && g.GID != 0 {
		d.add("gid", number(old.GID), number(g.GID))
	}
	return d.out
}
