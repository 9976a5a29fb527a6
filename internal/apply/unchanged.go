package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// unchanged marks a change that has nothing to do. If another change of this run produced the state of
// its path, the path differs from before the run, so its actions run.
func (r *forward) unchanged(i int) error {
	if err := r.found(i, r.effects[i].from); err != nil {
		return err
	}
	if r.doneByAnother(i) {
		if err := r.log(r.actions.notify(i)...); err != nil {
			return err
		}
	}
	r.machine.Set(i, Done)
	r.event("done", i, "already in sync")
	return nil
}

// doneByAnother reports whether this run already made a planned change of a path through another
// address.
func (r *forward) doneByAnother(i int) bool {
	c, to := r.plan.Changes[i], r.effects[i].to
	if c.Addr.Kind() != addr.KindFile || !c.Action.Mutates() || c.From == nil || c.From.Same(to) {
		return false
	}
	for k := range r.effects[:i] {
		if r.plan.Changes[k].Addr.Path() == c.Addr.Path() && r.effects[k].changed {
			return true
		}
	}
	return false
}

// adopt records the present state of an address that was already in sync. A later repair then uses
// this state as the origin, and not a state that another program has made since.
func (r *forward) adopt(i int) error {
	c := r.plan.Changes[i]
	if c.Action != plan.Adopt || c.From == nil || r.managed(c.Addr) {
		return nil
	}
	found := *c.From
	if f := found.File(); f != nil && c.Addr.Kind() == addr.KindFile {
		whole := *f
		whole.Entries = nil
		if meta, err := capture.Metadata(r.Host, c.Addr.Path()); err == nil && meta.Type == f.Type {
			whole.Xattrs, whole.Attrs = meta.Xattrs, meta.Attrs
		}
		found = image.Of(&whole)
	}
	return r.found(i, found)
}

// found records the image of an address that fettle manages from now on without changing it. Commands
// have no image.
func (r *run) found(i int, now image.Image) error {
	c := r.plan.Changes[i]
	if r.header.Operation == journal.OpRollback && !c.ChangedByOthers || !now.Known() || now.Exec() != nil ||
		c.Step.IsZero() || r.managed(c.Addr) {
		return nil
	}
	r.effects[i].from, r.effects[i].to = now, now
	return r.ahead(journal.Record{Kind: journal.Adopted, Change: i, Addr: c.Addr, From: &now})
}

// managed reports whether the state before the run has an entry for an address.
func (r *run) managed(a addr.Addr) bool {
	return slices.ContainsFunc(r.base.Entries, func(e journal.Entry) bool { return e.Addr == a })
}

// withVersions adds to an adopted region the state of its file before the first change of the region.
// If the file later has the same content again, its old modification time is restored.
func withVersions(adopted *image.Image, from image.Image) *image.Image {
	if adopted.Region() == nil || from.Region() == nil {
		return adopted
	}
	one := *adopted.Region()
	one.EarlierVersions = append(slices.Clone(one.EarlierVersions), from.Region().EarlierVersions...)
	return new(image.Of(&one))
}

// withPlace adds to the origin of a value in a document the place that the value had right before
// it became absent. While the value exists, its place needs no record: a restore replaces it there.
func withPlace(origin *image.Image, from image.Image) *image.Image {
	if origin.Region() == nil || from.Region() == nil || origin.Region().Source == nil || from.Region().Source == nil ||
		!origin.Region().Present || origin.Region().Source.Cut != nil || from.Region().Source.Cut == nil {
		return origin
	}
	one, source := *origin.Region(), *origin.Region().Source
	source.Cut = from.Region().Source.Cut
	one.Source = &source
	return new(image.Of(&one))
}
