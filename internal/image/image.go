// Package image contains images. An image is the complete state of one address at one moment, as data.
// The image that a step finds is its before-image, and the image that it should leave is its target.
// Each change is a move from one image to another. Its undo is the move with the two images exchanged.
// After a crash, the present image shows whether the move has happened.
//
//	before := image.Of(&image.File{Type: image.Absent})
//	after := image.Of(&image.File{Type: image.Regular, Mode: 0o644, Digest: d})
//	before.Same(after) // false
//
// Images have no content: the bytes of a file are a blob in the object store under Digest. Owners are
// numbers, not names. The JSON of images is a part of the journal format.
package image

import "fettle.dev/fettle/internal/addr"

// Image is the state of one address: one variant of a closed union. The zero Image means that the state is
// unknown.
type Image struct {
	// Variant is a pointer to File, Region, User, Group, Member, Package, Unit, Sysctl or Exec; nil if the
	// state is unknown. Set it with Of. It is exported so that package journal can encode its strings.
	Variant Variant
}

// Variant is a type of image. Only this package can implement it, and types lists all implementations.
type Variant interface {
	comparison
	description
	form
}

type comparison interface {
	// Same reports whether both variants are the same state. Different types are never the same. It ignores
	// values that change on their own or only support the undo: times, link counts, line numbers of regions,
	// and entries.
	Same(other Variant) bool
	// Differences describes the change from another image to this one for users. It never contains file
	// content or secrets. before can be nil or another type: then the object did not exist.
	Differences(before Variant, n Names) []Difference
}

type description interface {
	// Absent reports that the object does not exist.
	Absent() bool
	// SealKey returns the ID of the key that encrypts the secret of the image, or "" without a secret.
	SealKey() string
	// Summary describes for users, without content, what existed before fettle. It can be "".
	Summary() string
}

// form is the place of a type in the stored form. Its methods work with a nil pointer.
type form interface {
	stored() string  // the name of the type in JSON
	kind() addr.Kind // the kind of address that can only have images of this type, or ""
	fresh() Variant  // a new empty image
}

// captured is implemented by types whose images can be captured from a host instead of computed.
type captured interface{ exact() bool }

// Of returns the image with a variant: Of(&File{…}). Of a nil pointer is unknown.
func Of[T any, P interface {
	*T
	Variant
}](v P) Image {
	if v == nil {
		return Image{}
	}
	return Image{Variant: v}
}

// as returns the variant of type T, or nil for another type.
func as[T any](v Variant) *T {
	t, _ := any(v).(*T)
	return t
}

// valueOf returns the variant of type T, or its zero value for another type.
func valueOf[T any](v Variant) (t T) {
	if p := as[T](v); p != nil {
		return *p
	}
	return t
}

// Known reports whether the state is known.
func (i Image) Known() bool { return i.Variant != nil }

// Same reports whether two images are the same state, as Variant.Same does. Unknown states are the same.
func (i Image) Same(o Image) bool {
	if !i.Known() || !o.Known() {
		return i.Known() == o.Known()
	}
	return i.Variant.Same(o.Variant)
}

// Absent reports that the object is known not to exist.
func (i Image) Absent() bool { return i.Known() && i.Variant.Absent() }

// SealKey returns the ID of the key that encrypts the secret of the image, or "" without a secret.
func (i Image) SealKey() string {
	if !i.Known() {
		return ""
	}
	return i.Variant.SealKey()
}

// Summary describes for users what existed before fettle, or returns "" if that is unknown.
func (i Image) Summary() string {
	if !i.Known() {
		return ""
	}
	return i.Variant.Summary()
}

// Differences describes the change from another image to this one, or nothing if this one is unknown.
func (i Image) Differences(before Image, n Names) []Difference {
	if !i.Known() {
		return nil
	}
	return i.Variant.Differences(before.Variant, n)
}

// Exact reports whether an image was captured from a host, not computed. A captured image is restored
// exactly.
func (i Image) Exact() bool {
	c, is := i.Variant.(captured)
	return is && c.exact()
}
