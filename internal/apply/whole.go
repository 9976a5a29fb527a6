package apply

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// exactly returns the content of a file after a change of a part of it. If only fettle has changed the
// file since the restored run, this is the file of that run, and otherwise next. Metadata is restored
// by separate steps.
func (r *run) exactly(i int, now, next image.File) image.File {
	w := r.plan.Changes[i].Whole
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
func (r *run) unbroken(i int, from, now image.File) bool {
	at := func(f image.File) image.File { return image.File{Type: f.Type, Digest: f.Digest, Sealed: f.Sealed} }
	here := at(from)
	for j, c := range r.plan.Changes[:i] {
		if c.Addr.Kind() != addr.KindEdit || c.Addr.Path() != r.plan.Changes[i].Addr.Path() {
			continue
		}
		for _, m := range r.fx[j].moves {
			if !at(m.from).Same(here) {
				return false
			}
			here = at(m.to)
		}
	}
	return at(now).Same(here)
}
