package apply

import (
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
)

// sharedInode names the inode of a file that a move removes and that has other names, "" for any
// other move.
func sharedInode(m *move.Move) string {
	if m.From.Type != image.Regular || m.From.Nlink < 2 || m.To.Type != image.Absent {
		return ""
	}
	return inodeOf(m.From.Stat)
}

func inodeOf(st host.Stat) string { return fmt.Sprintf("%d:%d", st.Dev, st.Ino) }

// otherName returns a path that is a name of the file which an undo restores, "" if fettle knows none:
// a name that the run left, or one that it removed and that this undo has restored.
func (r *run) otherName(pm pathMove) string {
	if pm.inode == "" {
		return ""
	}
	for _, fx := range r.fx {
		for _, other := range fx.moves {
			if other.inode == pm.inode && other.path != pm.path && r.isAgain(other) {
				return other.path
			}
		}
	}
	for _, dir := range r.knownDirs(pm.path) {
		if name := r.nameIn(dir, pm); name != "" {
			return name
		}
	}
	return ""
}

// isAgain reports whether a removed path is as it was.
func (r *run) isAgain(pm pathMove) bool {
	now, err := capture.Whole(r.Host, pm.path)
	return err == nil && now.File.Same(pm.from) && now.MTime == pm.from.MTime
}

// nameIn returns a path in a directory that is a name of the inode which a move removed.
func (r *run) nameIn(dir string, pm pathMove) string {
	names, err := r.Host.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, name := range names {
		p := path.Join(dir, name)
		st, err := r.Host.Lstat(p)
		if err == nil && st.Type == image.Regular && !move.IsTemp(name) && inodeOf(st) == pm.inode && r.isSame(p, pm.from) {
			return p
		}
	}
	return ""
}

// isSame reports whether a path has the content and the metadata of an image. The inode number alone
// does not prove it: a new file can get the number of a removed one.
func (r *run) isSame(p string, f image.File) bool {
	now, err := capture.Whole(r.Host, p)
	return err == nil && now.File.Same(f)
}

// knownDirs returns the directory of a path, and then those of all paths of the plan and of the applied
// state, each once.
func (r *run) knownDirs(p string) []string {
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
