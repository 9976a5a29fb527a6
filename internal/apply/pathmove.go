package apply

import (
	"errors"
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
)

// touched reports whether fettle changed only the modification time of a path.
func (pm pathMove) touched(now image.File) bool {
	return pm.inPlace && pm.to.MTime != 0 && now.MTime == pm.to.MTime && now.MTime != pm.from.MTime
}

// torn reports whether a path is partly changed by fettle itself: its metadata was being changed in
// place, or a directory was being exchanged with another object.
func (pm pathMove) torn(now image.File) bool {
	if pm.inPlace {
		return now.Type == pm.from.Type
	}
	if pm.backing && pm.from.Type == image.Directory && now.Type == image.Directory {
		return true // visible again before its metadata was durable
	}
	if pm.open && pm.from.Type == image.Absent && pm.to.Type == image.Directory && pm.to.Tree == "" {
		return now.Type == image.Directory // visible before its metadata was durable
	}
	swap := pm.from.Type != image.Absent && pm.to.Type != image.Absent &&
		(pm.from.Type == image.Directory) != (pm.to.Type == image.Directory)
	return now.Type == image.Absent && (swap || pm.from.Tree != "")
}

// backMove returns the move that undoes a path move, or nil if it is already undone.
func (r *batches) backMove(i int, pm pathMove) (*move.Move, error) {
	now, err := r.whole(pm)
	if err != nil {
		return nil, err
	}
	switch {
	case now.File.Same(&pm.from) && !pm.touched(now.File):
		return nil, nil
	case !now.File.Same(&pm.to) && !pm.torn(now.File):
		return nil, errors.New("others have changed it since; it stays as it is")
	}
	if err := r.content(pm.from.Digest); err != nil {
		return nil, fmt.Errorf("its recorded earlier state cannot be read: %w", err)
	}
	return &move.Move{Change: i, Path: pm.path, From: now, To: pm.from, Temp: move.TempFor(pm.path, r.header.Run, i, true),
		Inode: pm.inode, Name: otherName(r.run, pm)}, nil
}

// whole captures a path in the same way as the first capture.
func (r *batches) whole(pm pathMove) (capture.Taken, error) {
	look := capture.Whole
	if pm.from.Tree != "" || pm.to.Tree != "" {
		look = func(h host.Reader, p string) (capture.Taken, error) { return r.tree(h, p, pm) }
	}
	now, err := r.wholeEither(pm, look)
	now.File = move.AsMade(now.File, pm.from, pm.to)
	return now, err
}

// tree captures a path with everything in it. If the tree differs from a tree of the move only in the times of
// directories, it returns that tree: other moves of the run, and their undo, change these times.
func (r *batches) tree(h host.Reader, p string, pm pathMove) (capture.Taken, error) {
	now, err := capture.TakeTree(h, nil, p)
	if err != nil || now.Tree == pm.from.Tree || now.Tree == pm.to.Tree {
		return now, err
	}
	for _, tree := range []string{pm.to.Tree, pm.from.Tree} {
		if tree == "" {
			continue
		}
		if like, err := capture.CompareTree(h, r.Store, p, tree); err == nil && like.Tree == tree {
			return like, nil
		}
	}
	return now, nil
}

// wholeEither captures a path of which one image is encrypted and the other is not, or with another
// key. The result has the form of the image that the path matches.
func (r *batches) wholeEither(pm pathMove, look func(host.Reader, string) (capture.Taken,
	error)) (capture.Taken, error) {
	v, ok := r.Host.(host.Veiled)
	if !ok {
		return look(r.Host, pm.path)
	}
	now, err := look(v.Under(pm.path, pm.from.Sealed), pm.path)
	if err != nil || pm.from.Sealed == pm.to.Sealed || now.Type != image.Regular || now.File.Same(&pm.from) {
		return now, err
	}
	return look(v.Under(pm.path, pm.to.Sealed), pm.path)
}

// sharedInode returns the inode of a removed file with other names, and "" for any other move.
func sharedInode(m *move.Move) string {
	if m.From.Type != image.Regular || m.From.Nlink < 2 || m.To.Type != image.Absent {
		return ""
	}
	return inodeOf(m.From.Stat)
}

func inodeOf(st host.Stat) string { return fmt.Sprintf("%d:%d", st.Dev, st.Ino) }

// otherName returns another path of the file that an undo restores, or "" if it finds no such path.
// The run did not remove this path, or the undo has restored it.
func otherName(r *run, pm pathMove) string {
	if pm.inode == "" {
		return ""
	}
	for _, fx := range r.effects {
		for _, other := range fx.moves {
			if other.inode == pm.inode && other.path != pm.path && isSame(r.Host, other.path, other.from) {
				return other.path
			}
		}
	}
	for _, dir := range knownDirs(r, pm.path) {
		if name := nameIn(r.Host, dir, pm); name != "" {
			return name
		}
	}
	return ""
}

// nameIn returns a path in a directory with the inode of a removed file.
func nameIn(h host.Reader, dir string, pm pathMove) string {
	names, err := h.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, name := range names {
		p := path.Join(dir, name)
		st, err := h.Lstat(p)
		if err == nil && st.Type == image.Regular && !move.IsTemp(name) && inodeOf(st) == pm.inode && isSame(h, p, pm.from) {
			return p
		}
	}
	return ""
}

// isSame reports whether a path has the content, the metadata and the time of an image. The inode
// number is not sufficient: a new file can reuse it.
func isSame(h host.Reader, p string, f image.File) bool {
	now, err := capture.Whole(h, p)
	return err == nil && now.File.Same(&f) && now.MTime == f.MTime
}

// knownDirs returns the directory of a path, and the directories of all managed paths, each once.
func knownDirs(r *run, p string) []string {
	out, seen := []string{path.Dir(p)}, map[string]bool{path.Dir(p): true}
	add := func(a addr.Addr) {
		if dir := path.Dir(a.Path()); isPath(a) && !seen[dir] {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	for _, c := range r.plan.Changes {
		add(c.Addr)
	}
	for _, e := range r.base.Entries {
		add(e.Addr)
	}
	return out
}
