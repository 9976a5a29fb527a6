package local

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// edited follows files of which runs changed only parts, by path.
type edited map[string]*parts

// parts is such a file: as the newest of the runs left it, and as the first one found it.
type parts struct {
	plan.WholeFile
	edits    bool // a part changed, and not metadata alone
	restored bool // all changes restored the goal, so its file includes them
	broken   bool // others changed it in between, a run changed it as a whole, or a repair follows a change
}

// move takes in one change of a path, in the order in which runs made them: a repair, a change by a rollback
// to the same goal, or another change.
func (e edited) move(rec journal.Record, repair, restored bool) {
	f, known := e[rec.Path]
	if !known {
		f = &parts{WholeFile: plan.WholeFile{From: *rec.From.File(), To: *rec.From.File()}, restored: true}
		e[rec.Path] = f
	}
	switch {
	case f.restored && (repair || restored):
		f.To = *rec.To.File()
	case repair: // no version of the file has both the repair and the parts of the goal
		f.broken = true
	default:
		f.restored = false
	}
	f.edits = f.edits || rec.Addr.Kind() == addr.KindEdit
	f.broken = f.broken || !ownsPart(rec.Addr) || rec.From.File().Sealed != "" || rec.To.File().Sealed != "" ||
		!sameContent(*rec.From.File(), f.From)
	f.From = *rec.To.File()
}

// paths are all paths that runs changed.
func (e edited) paths() map[string]bool {
	out := make(map[string]bool, len(e))
	for p := range e {
		out[p] = true
	}
	return out
}

// sameContent compares two images of a path, but for metadata.
func sameContent(a, b image.File) bool { return a.Type == b.Type && a.Digest == b.Digest }

// unchanged gives the files that are as the newest run left them.
func (e edited) unchanged(look func(string) (image.File, error)) map[string]plan.WholeFile {
	out := map[string]plan.WholeFile{}
	for p, f := range e {
		if f.broken || !f.edits {
			continue
		}
		if now, err := look(p); err == nil && sameContent(now, f.From) {
			out[p] = f.WholeFile
		}
	}
	return out
}

// ownsPart reports whether an address is a part of the file at a path.
func ownsPart(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }
