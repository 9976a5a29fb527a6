package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// adopt records what an adopted address was like, so that a later repair does not
// take what others made of it for its origin.
func (r *run) adopt(i int) error {
	c := r.plan.Changes[i]
	if c.Action != plan.Adopt || c.From == nil || r.managed(c.Addr) {
		return nil
	}
	found := *c.From
	if f := found.File; f != nil && c.Addr.Kind() == addr.KindFile {
		whole := *f
		whole.Entries = nil
		if meta, err := capture.Metadata(r.Host, c.Addr.Path()); err == nil && meta.Type == f.Type {
			whole.Xattrs, whole.Attrs = meta.Xattrs, meta.Attrs
		}
		found = image.Image{File: &whole}
	}
	return r.found(i, found)
}

// found notes the image of an address that is managed from here on and was not
// changed. Commands have none.
func (r *run) found(i int, now image.Image) error {
	c := r.plan.Changes[i]
	if r.header.Operation == journal.OpRollback || !now.Known() || now.Exec != nil || c.Step == "" || r.managed(c.Addr) {
		return nil
	}
	r.fx[i].from, r.fx[i].to = now, now
	return r.ahead(journal.Record{Kind: journal.Adopted, Change: i, Addr: c.Addr, From: &now})
}

// managed tells whether the base of the run has an entry for an address.
func (r *run) managed(a addr.Addr) bool {
	return slices.ContainsFunc(r.base.Entries, func(e journal.Entry) bool { return e.Addr == a })
}

// withVersions adds to a region that was adopted what the file around it was when the
// region first changed, so that a file which is the same again gets its time back.
func withVersions(adopted *image.Image, from image.Image) *image.Image {
	if adopted.Region == nil || from.Region == nil {
		return adopted
	}
	one := *adopted.Region
	one.Was = append(slices.Clone(one.Was), from.Region.Was...)
	return &image.Image{Region: &one}
}

// withPlace adds to the origin of a value in a document the place that the value had right before
// it became absent. While the value exists, its place needs no record: a restore replaces it there.
func withPlace(origin *image.Image, from image.Image) *image.Image {
	if origin.Region == nil || from.Region == nil || origin.Region.Source == nil || from.Region.Source == nil ||
		!origin.Region.Present || origin.Region.Source.Cut != nil || from.Region.Source.Cut == nil {
		return origin
	}
	one, source := *origin.Region, *origin.Region.Source
	source.Cut = from.Region.Source.Cut
	one.Source = &source
	return &image.Image{Region: &one}
}
