package apply

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// Several regions of one file come and go in any order. What the file itself
// was before the first of them (absent, without a last newline) is noted with
// each, so that whichever leaves last can put it back.

// asBeforeEdits adds to a region what the file was before our other regions.
func (r *run) asBeforeEdits(s step.Step, now *image.Region) {
	note := func(a addr.Addr, origin *image.Image) {
		if a.Kind() == addr.KindEdit && a.Path() == s.Path() && origin != nil && origin.Region != nil {
			now.FileAbsent = now.FileAbsent || origin.Region.FileAbsent
			now.NoEOL = now.NoEOL || origin.Region.NoEOL
		}
	}
	for _, e := range r.base.Entries {
		note(e.Addr, e.Origin)
	}
	for i, c := range r.plan.Changes {
		if r.fx[i].changed && c.Action != plan.Remove {
			note(c.Addr, &r.fx[i].from)
		}
	}
}

// unlessShared leaves the end of the file alone while another region of ours is
// still in it.
func (r *run) unlessShared(s step.Step, to image.Image) image.Image {
	if to.Region == nil || !to.Region.NoEOL {
		return to
	}
	gone := map[addr.Addr]bool{s.Addr(): true}
	for i, c := range r.plan.Changes {
		if c.Action == plan.Remove && r.m.Status(i) == Done {
			gone[c.Addr] = true
		}
	}
	for _, e := range r.base.Entries {
		if e.Addr.Kind() == addr.KindEdit && e.Addr.Path() == s.Path() && !gone[e.Addr] && e.Origin != nil {
			one := *to.Region
			one.NoEOL = false
			return image.Image{Region: &one}
		}
	}
	return to
}
