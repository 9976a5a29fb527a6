package apply

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// Regions of one file can be added and removed in any order. Each region records the state of the file
// before the first region (absent, or without a final newline). With it, the removal of the last
// region can restore that state.

// asBeforeEdits records in a region the state of its file before the other regions of fettle.
func (r *edits) asBeforeEdits(s step.Step, now *image.Region) {
	note := func(a addr.Addr, origin *image.Image) {
		if a.Kind() == addr.KindEdit && a.Path() == s.Path() && origin != nil && origin.Region() != nil {
			now.FileAbsent = now.FileAbsent || origin.Region().FileAbsent
			now.NoEOL = now.NoEOL || origin.Region().NoEOL
			for _, v := range origin.Region().EarlierVersions {
				if !slices.Contains(now.EarlierVersions, v) {
					now.EarlierVersions = append(now.EarlierVersions, v)
				}
			}
			asBeforeMapping(s, a, now, origin.Region())
		}
	}
	for _, e := range r.base.Entries {
		note(e.Addr, e.Origin)
	}
	for i, c := range r.plan.Changes {
		if r.effects[i].changed && c.Action != plan.Remove {
			note(c.Addr, &r.effects[i].from)
		}
	}
}

// forTarget returns the image from which the target of a step is computed. A region can record that
// its file was absent before the other regions; that record must not count as an absent file now, so
// it is removed here.
func (r *edits) forTarget(s step.Step, now image.Image) image.Image {
	if s.Verb != step.Edit || s.Absent() || now.Region() == nil || !now.Region().FileAbsent {
		return now
	}
	if _, err := r.Host.Lstat(s.Path()); err != nil {
		return now
	}
	one := *now.Region()
	one.FileAbsent = false
	return image.Of(&one)
}

// asFoundFirst adds to a region its image from before the first change by its address. With it, an
// unchanged file gets its old time back. The removal of a region also removes the mappings that were created
// for it, or the newline before it.
func (r *edits) asFoundFirst(s step.Step, to image.Image) image.Image {
	if s.Verb != step.Edit || to.Region() == nil {
		return to
	}
	first := r.foundFirst(s)
	if to.Region().Present && first != nil {
		one := *to.Region()
		one.EarlierVersions = append(slices.Clone(one.EarlierVersions), first.EarlierVersions...)
		return image.Of(&one)
	}
	if to.Region().Present {
		return to
	}
	if to.Region().FileAbsent && r.dressed(s.Path()) {
		one := *to.Region()
		one.FileAbsent = false
		to = image.Of(&one)
	}
	if first != nil && !first.Present {
		one := *to.Region()
		one.Source, one.EarlierVersions, one.NoEOL = first.Source, first.EarlierVersions, first.NoEOL
		return r.unlessShared(s, image.Of(&one))
	}
	return to
}

// inOldPlace moves a region that its step had removed, and that is restored, to its original place.
// There, the removal of the step needs only the original text.
func (r *edits) inOldPlace(s step.Step, now, to image.Image) image.Image {
	if s.Verb != step.Edit || now.Region() == nil || now.Region().Present || to.Region() == nil || !to.Region().Present ||
		len(to.Region().Encrypted) > 0 {
		return to
	}
	first := r.foundFirst(s)
	if first == nil || !first.Present || len(first.Encrypted) > 0 {
		return to
	}
	one := *to.Region()
	one.Line, one.CutEnd, one.Source, one.EarlierVersions = first.Line, first.CutEnd, first.Source, first.EarlierVersions
	return image.Of(&one)
}

// foundFirst returns the region before the first change by the address of the step, or nil if there
// was no change.
func (r *edits) foundFirst(s step.Step) *image.Region {
	for _, e := range r.base.Entries {
		if e.Addr == s.Addr() && e.Origin != nil {
			return e.Origin.Region()
		}
	}
	return nil
}

// dressed reports whether the list sets metadata for a path, which requires the file.
func (r *edits) dressed(p string) bool {
	return slices.ContainsFunc(r.wanted, func(s step.Step) bool { return s.Verb == step.Meta && s.Path() == p })
}

// asBeforeMapping records that the mapping around a value did not exist before another value of
// fettle. With this record, the removal of the last value also removes the mapping.
func asBeforeMapping(s step.Step, other addr.Addr, now, origin *image.Region) {
	_, otherKey, ok := strings.Cut(string(other), "#key:")
	if now.Source == nil || now.Present || origin.Source == nil || origin.Present || !ok {
		return
	}
	mine, err := step.SplitKey(s.Get("key"))
	theirs, err2 := step.SplitKey(otherKey)
	d := origin.Source.Depth
	if err != nil || err2 != nil || d >= min(now.Source.Depth, len(mine)-1, len(theirs)-1) ||
		!slices.Equal(mine[:d+1], theirs[:d+1]) {
		return
	}
	now.Source.Depth, now.Source.Text = d, origin.Source.Text
}

// unlessShared keeps the end of the file unchanged while the file contains another region of fettle.
func (r *edits) unlessShared(s step.Step, to image.Image) image.Image {
	if to.Region() == nil || !to.Region().NoEOL {
		return to
	}
	gone := map[addr.Addr]bool{s.Addr(): true}
	for i, c := range r.plan.Changes {
		if c.Action == plan.Remove && r.machine.Status(i) == Done {
			gone[c.Addr] = true
		}
	}
	for _, e := range r.base.Entries {
		if e.Addr.Kind() == addr.KindEdit && e.Addr.Path() == s.Path() && !gone[e.Addr] && e.Origin != nil {
			one := *to.Region()
			one.NoEOL = false
			return image.Of(&one)
		}
	}
	return to
}

// exactly returns the content of a file after a change of a part of it. If only fettle has changed the
// file since the restored run, this is the file of that run, and otherwise next. Metadata is restored
// by separate steps.
func (r *edits) exactly(i int, now, next image.File) image.File {
	w := r.plan.Changes[i].WholeFile
	if w == nil || w.To.Digest != "" && !r.Store.Has(w.To.Digest) || !r.unbroken(i, w.From, now) {
		return next
	}
	if now.Type == image.Absent || w.To.Type == image.Absent {
		return w.To
	}
	next = now
	next.Digest, next.Size, next.MTime = w.To.Digest, w.To.Size, w.To.MTime
	return next
}

// unbroken reports whether the edits of this run before change i transform the file that the plan
// found into the present file.
func (r *edits) unbroken(i int, from, now image.File) bool {
	at := func(f image.File) image.File { return image.File{Type: f.Type, Digest: f.Digest, Sealed: f.Sealed} }
	here := at(from)
	for j, c := range r.plan.Changes[:i] {
		if c.Addr.Kind() != addr.KindEdit || c.Addr.Path() != r.plan.Changes[i].Addr.Path() {
			continue
		}
		for _, m := range r.effects[j].moves {
			if !at(m.from).Same(&here) {
				return false
			}
			here = at(m.to)
		}
	}
	return at(now).Same(&here)
}
