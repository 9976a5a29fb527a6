package local

import (
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// made follows which paths below a directory exist because of runs. At first nothing is there,
// since the directory was not a directory.
type made struct {
	top    string
	ours   map[string]bool
	others map[string]image.File // content of others that runs removed or replaced
	kept   func(tree string) []plan.TreeFile
}

// madeIn returns the paths below a directory that runs since the goal made, or restored from a
// directory that was stored before the goal.
func (p *past) madeIn(top string) map[string]bool {
	m := made{top, map[string]bool{}, map[string]image.File{}, p.kept}
	for _, d := range p.moves {
		m.lose(d.path, d.from)
		if d.from.Type != image.Directory || d.to.Type != image.Directory {
			maps.DeleteFunc(m.ours, func(at string, _ bool) bool { return isBelow(at, d.path) })
		}
		switch {
		case d.to.Type == image.Absent:
			delete(m.ours, d.path)
		case d.from.Type == image.Absent:
			m.restore(d.path, d.to)
		}
		m.each(d.path, d.to.Tree, m.restore)
	}
	return m.ours
}

// lose notes the content of others at a path that a run changes.
func (m *made) lose(at string, f image.File) {
	note := func(at string, f image.File) {
		if f.Type != image.Absent && !m.ours[at] {
			m.others[at] = f
		}
	}
	note(at, f)
	m.each(at, f.Tree, note)
}

// restore adds a path that a run made. Content of others that returns is still theirs.
func (m *made) restore(at string, f image.File) {
	was, known := m.others[at]
	if isBelow(at, m.top) && !(known && same(was, f)) {
		m.ours[at] = true
	}
}

// each calls a function with the paths of a stored tree that are below the directory.
func (m *made) each(at, tree string, do func(at string, f image.File)) {
	if tree == "" || !isBelow(at, m.top) && !isBelow(m.top, at) && at != m.top {
		return
	}
	for _, k := range m.kept(tree) {
		if sub := path.Join(at, k.Rel); isBelow(sub, m.top) {
			do(sub, k.File)
		}
	}
}

// isBelow reports whether a path is in a directory, at any depth.
func isBelow(at, dir string) bool { return strings.HasPrefix(at, dir+"/") }

// foreign returns, for each directory that a plan may remove or replace by a file, the first path
// in it that fettle did not create. images are the restored images by path.
func (x *planner) foreign(seen *observed, images map[string]image.File, entries []journal.Entry,
	p *past) map[string]string {
	out, owned := map[string]string{}, ownedPaths(entries)
	for at, f := range images {
		if f.Type == image.Directory || !x.isDir(at) {
			continue
		}
		ours := p.madeIn(at)
		maps.DeleteFunc(ours, func(in string, _ bool) bool { return !owned[in] && p.changedSince(in, x.lookFile) })
		for _, e := range entries {
			if in := e.Addr.Path(); isBelow(in, at) && created(e) {
				ours[in] = true
			}
		}
		first, err := x.firstOther(at, ours)
		if err != nil {
			seen.failed[addr.File(at)] = err
		} else if first != "" {
			out[at] = first
		}
	}
	return out
}

// created reports whether nothing was at the path of an entry before fettle.
func created(e journal.Entry) bool {
	o := e.Origin
	return o != nil && (o.File() != nil && o.File().Type == image.Absent || o.Region() != nil && o.Region().FileAbsent)
}

// firstOther returns the first path in a directory that is not one of ours, relative to it.
func (x *planner) firstOther(dir string, ours map[string]bool) (string, error) {
	names, err := x.host.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		p := path.Join(dir, name)
		if !ours[p] {
			return name, nil
		}
		if !x.isDir(p) {
			continue
		}
		if in, err := x.firstOther(p, ours); err != nil || in != "" {
			return path.Join(name, in), err
		}
	}
	return "", nil
}

// lookAt returns the image of a path.
type lookAt func(path string) (image.File, error)

// leaveToOthers removes paths from the images that a rollback restores, and returns them. They were
// absent, and fettle does not own them now. Other users have changed them, or paths in them,
// since the last run that changed them. The rollback would remove data of these users. It leaves the whole
// directory: the origin of an unmanaged path in it is known only if the directory is removed in one piece.
// An owned directory is left too if a step or a purge of the goal removed it with everything in it. A directory that
// the rollback only manages again keeps the paths that fettle does not own: its removal stores them as its origin.
func (x *planner) leaveToOthers(p *past, found map[string]image.File, now, goal []journal.Entry) map[string]bool {
	out, owned, kept := map[string]bool{}, ownedPaths(now), x.leftThen(found, now, goal)
	for _, at := range slices.Sorted(maps.Keys(found)) { // a directory before its content
		if found[at].Type != image.Absent {
			continue
		}
		free := !owned[at]
		if free && (p.changedSince(at, x.lookFile) || leftAbove(out, at) || leftAbove(kept, at)) ||
			(free || removed(goal, at)) && x.changedIn(at, p, owned) {
			out[at] = true
			delete(found, at)
		}
	}
	return out
}

// leftThen returns the directories that must be absent, that the run of the goal left, and that no run since has
// changed. They are not managed now.
func (x *planner) leftThen(found map[string]image.File, now, goal []journal.Entry) map[string]bool {
	out := map[string]bool{}
	managed := make(map[addr.Addr]bool, len(now))
	for _, e := range now {
		managed[e.Addr] = true
	}
	for _, e := range goal {
		at := e.Addr.Path()
		if _, changed := found[at]; mustBeAbsent(e) && !changed && !managed[e.Addr] && x.isDir(at) {
			out[at] = true
		}
	}
	return out
}

// leftAbove reports whether a rollback leaves a directory above a path.
func leftAbove(left map[string]bool, at string) bool {
	for d := path.Dir(at); d != "/" && d != "."; d = path.Dir(d) {
		if left[d] {
			return true
		}
	}
	return false
}

// removed reports whether a step or a purge removed a path.
func removed(entries []journal.Entry, at string) bool {
	return slices.ContainsFunc(entries, func(e journal.Entry) bool {
		return e.Addr == addr.File(at) && mustBeAbsent(e)
	})
}

// mustBeAbsent reports whether a step or a purge requires that the path of an entry is absent.
func mustBeAbsent(e journal.Entry) bool {
	rm := step.Step{Verb: step.Rm, Args: []string{e.Addr.Path()}}
	return e.Addr.Kind() == addr.KindFile && (e.PurgedBy != "" || e.Step.Same(rm))
}

// addCreated adds paths that runs created in a directory that was absent to the images that a rollback restores:
// nothing was there. A part of a file is removed by itself, and the file with its last part.
func (p *past) addCreated(found map[string]image.File) {
	for at, created := range p.fresh {
		if _, known := found[at]; created && !known {
			found[at] = image.File{Type: image.Absent}
		}
	}
}

// changedIn reports whether others have changed a path in a directory that fettle does not own since the last
// run that changed it. A directory that cannot be read has no such path; the plan reports the error.
func (x *planner) changedIn(dir string, p *past, owned map[string]bool) bool {
	if !x.isDir(dir) {
		return false
	}
	names, err := x.host.ReadDir(dir)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		in := path.Join(dir, name)
		return !owned[in] && p.changedSince(in, x.lookFile) || x.changedIn(in, p, owned)
	})
}

// changedSince reports whether others have changed a path since the last run that changed it.
func (p *past) changedSince(at string, look lookAt) bool {
	left, known := p.left(at)
	if !known {
		return false
	}
	now, err := look(at)
	return err == nil && now.Type != image.Absent && !asLeft(now, left)
}

// asLeft reports whether a path is unchanged since a run. A time of 0 is unknown, and the time of a
// directory follows from its content. A secret is compared by its time.
func asLeft(now, left image.File) bool {
	if left.Type != image.Directory && left.MTime != 0 && now.MTime != left.MTime {
		return false
	}
	return now.Type == left.Type && now.UID == left.UID && now.GID == left.GID && now.Target == left.Target &&
		(now.Digest == left.Digest || left.Sealed != "") && (now.Mode == left.Mode || now.Type == image.Symlink)
}

// left returns the image of a path after the last run that changed the path or a directory above it.
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

// ownedPaths returns the paths of the entries, including partly managed paths. A path that must be absent is not
// owned: an object there belongs to others. The same holds for an object that runs only adopted.
func ownedPaths(entries []journal.Entry) map[string]bool {
	out := make(map[string]bool, len(entries))
	for _, e := range entries {
		if p := e.Addr.Path(); p != "" && e.Origin != nil && !mustBeAbsent(e) {
			out[p] = true
		}
	}
	return out
}
