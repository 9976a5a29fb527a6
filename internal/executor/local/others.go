package local

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// leaveToOthers takes paths out of the images that a rollback restores, and returns them: nothing was
// there, fettle does not manage them now, and others have changed them since a run released them.
// To restore that nothing is there would remove data of others.
func (x *Executor) leaveToOthers(p *past, found map[string]image.File, entries []journal.Entry) map[string]bool {
	out, managed := map[string]bool{}, pathsOf(entries)
	for at, f := range found {
		if f.Type == image.Absent && !managed[at] && x.changedSince(p, at) {
			out[at] = true
			delete(found, at)
		}
	}
	return out
}

// changedSince reports whether others have changed a path since the last run that changed it.
func (x *Executor) changedSince(p *past, at string) bool {
	left, known := p.left(at)
	if !known {
		return false
	}
	now, err := x.lookFile(at)
	return err == nil && now.Type != image.Absent && !asLeft(now, left)
}

// asLeft reports whether a path is as a run left it. A time of 0 is unknown, and the time of a directory
// follows from its content. The content of a secret is compared by its time.
func asLeft(now, left image.File) bool {
	if left.Type != image.Directory && left.MTime != 0 && now.MTime != left.MTime {
		return false
	}
	return now.Type == left.Type && now.UID == left.UID && now.GID == left.GID && now.Target == left.Target &&
		(now.Digest == left.Digest || left.Sealed != "") && (now.Mode == left.Mode || now.Type == image.Symlink)
}

// left returns the image that the last run which changed a path, or a directory above it, left there.
func (p *past) left(at string) (f image.File, known bool) {
	for _, d := range slices.Backward(p.moves) {
		switch {
		case d.path == at:
			return d.to, true
		case !isBelow(at, d.path):
		case d.to.Tree != "":
			if f, there := p.inStored(d.to.Tree, strings.TrimPrefix(at, d.path+"/")); there {
				return f, true
			}
			return image.File{Type: image.Absent}, true
		case d.to.Type != image.Directory || d.from.Type != image.Directory:
			return image.File{Type: image.Absent}, true
		}
	}
	return f, false
}

// pathsOf returns the paths of all entries, also those of which only a part is managed.
func pathsOf(entries []journal.Entry) map[string]bool {
	out := make(map[string]bool, len(entries))
	for _, e := range entries {
		if p := e.Addr.Path(); p != "" {
			out[p] = true
		}
	}
	return out
}
