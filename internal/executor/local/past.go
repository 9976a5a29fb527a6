package local

import (
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// past collects what the runs after a goal found at paths. The first run that
// changed a path decides; a directory that was kept whole decides for every path
// below it that no earlier run had changed.
type past struct {
	found map[string]image.File // by path, without Tree
	trees map[string]string     // the kept tree of a directory, by path
	whole map[string]bool       // paths that a run changed as a whole
	files map[string]bool       // paths at which a run put another file, until the file that was found returns
	fresh map[string]bool       // paths that a run changed as a whole in a directory that was absent
	freed map[string]bool       // released paths with the image that was found, until a run changes them again
	again bool                  // the present run is a complete rollback to the goal
	parts edited
	moves []displacement // all changes of paths, in order
	kept  func(tree string) []plan.TreeFile
	store map[string]map[string]image.File // the content of a stored tree by relative path, by tree
}

func newPast(kept func(string) []plan.TreeFile) *past {
	return &past{found: map[string]image.File{}, trees: map[string]string{}, whole: map[string]bool{},
		files: map[string]bool{}, fresh: map[string]bool{}, freed: map[string]bool{}, parts: edited{}, kept: kept,
		store: map[string]map[string]image.File{}}
}

// move adds one change of a path, in the order in which runs made the changes. The change
// of a home directory belongs to its account. A repair restored the applied image, so the
// applied image counts and not the image that the repair found. A path that a run
// released, and that has its original image, does not concern later runs. restored reports that the run
// was a rollback to the same goal: like a repair, it did not restore the image that it found. If it was complete, a
// path that it released is as it was at the goal. This includes a directory that it restored in part.
func (p *past) move(rec journal.Record, did plan.Action, restored bool) {
	k := rec.Addr.Kind()
	if rec.Kind == journal.Adopted && k == addr.KindFile && rec.From != nil && rec.From.File() != nil {
		p.add(rec.Addr.Path(), *rec.From.File(), false)
	}
	if rec.Kind != journal.Move || rec.Back || rec.From == nil || rec.From.File() == nil || rec.To == nil ||
		rec.To.File() == nil ||
		k != addr.KindFile && k != addr.KindEdit && k != addr.KindMeta {
		return
	}
	p.parts.move(rec, did == plan.Repair, restored)
	p.moves = append(p.moves, displacement{rec.Path, *rec.From.File(), *rec.To.File()})
	p.files[rec.Path] = p.files[rec.Path] || k == addr.KindFile
	if did == plan.Remove && (p.returned(rec.Path, *rec.To.File()) || p.again && !p.inTree(rec.Path)) {
		delete(p.found, rec.Path)
		delete(p.trees, rec.Path)
		delete(p.whole, rec.Path)
		delete(p.files, rec.Path) // later changes of its parts begin with the file that was found
		p.freed[rec.Path] = true
		return
	}
	if did == plan.Remove && p.follows(rec.Path, *rec.To.File()) {
		p.freed[rec.Path] = true
		return
	}
	if k == addr.KindFile {
		p.reclaim(rec.Path, rec.From.File().Type == image.Directory && rec.To.File().Type != image.Directory)
	}
	was := *rec.From.File()
	if did == plan.Repair || restored {
		was = *rec.To.File()
	}
	p.add(rec.Path, was, k == addr.KindFile)
	if tree := rec.To.File().Tree; tree != "" && rec.From.File().Type != image.Directory && !restored {
		for _, in := range slices.Backward(p.kept(tree)) { // a directory after its content
			p.add(path.Join(rec.Path, in.Rel), image.File{Type: image.Absent}, true)
		}
	}
}

// follows tells whether a path becomes just what a stored directory above it has.
func (p *past) follows(at string, to image.File) bool {
	tree := p.trees[p.covered(at)]
	if tree == "" {
		return false
	}
	f, there := p.inStored(tree, strings.TrimPrefix(at, p.covered(at)+"/"))
	return there && same(f, to)
}

// reclaim ends the release of a path, and of the paths below a directory that a run removed or replaced.
func (p *past) reclaim(at string, below bool) {
	delete(p.freed, at)
	if below {
		maps.DeleteFunc(p.freed, func(q string, _ bool) bool { return strings.HasPrefix(q, at+"/") })
	}
}

// returned tells whether a path becomes just what was found at it. One in a kept
// directory follows from that directory otherwise.
func (p *past) returned(at string, to image.File) bool {
	f, known := p.found[at]
	f.Tree = p.trees[at]
	return known && same(f, to) && !p.inTree(at)
}

func (p *past) add(at string, f image.File, whole bool) {
	if top := p.covered(at); top != "" {
		p.addAbsent(top, at)
		p.fresh[at] = p.fresh[at] || whole && p.found[top].Type == image.Absent
		return
	}
	p.whole[at] = p.whole[at] || whole
	tree := f.Tree
	f.Tree, f.Entries = "", nil
	if first, ok := p.found[at]; !ok {
		p.found[at] = f
	} else if first.Type != image.Directory || f.Type != image.Directory {
		return
	}
	if tree != "" && p.trees[at] == "" {
		p.trees[at] = tree
	}
}

// addAbsent adds a path that a run created in a directory which was stored before. If the
// stored tree does not have the path, it did not exist.
func (p *past) addAbsent(top, at string) {
	tree := p.trees[top]
	if tree == "" {
		return
	}
	if _, there := p.inStored(tree, strings.TrimPrefix(at, top+"/")); !there {
		p.found[at], p.whole[at] = image.File{Type: image.Absent}, true
	}
}

// inStored returns the image of a path in a stored tree. It reads each tree once.
func (p *past) inStored(tree, rel string) (f image.File, there bool) {
	if p.store[tree] == nil {
		p.store[tree] = map[string]image.File{}
		for _, k := range p.kept(tree) {
			p.store[tree][k.Rel] = k.File
		}
	}
	f, there = p.store[tree][rel]
	return f, there
}

// covered returns the nearest directory above a path from whose known image the original image
// of the path follows. The result is empty if there is none.
func (p *past) covered(at string) string {
	if _, known := p.found[at]; known {
		return ""
	}
	for d := path.Dir(at); d != "/" && d != "."; d = path.Dir(d) {
		if f, ok := p.found[d]; ok && (p.trees[d] != "" || f.Type != image.Directory) {
			return d
		}
	}
	return ""
}

// wanted returns, by path, the images that a rollback restores. A stored directory tree
// is restored as a whole if no directory is there now and no earlier run changed anything
// in it; otherwise path by path.
func (p *past) wanted(isDir func(string) bool) map[string]image.File {
	out := map[string]image.File{}
	for at, f := range p.found {
		if p.whole[at] || p.inTree(at) {
			out[at] = f
		}
	}
	tops := make([]string, 0, len(p.trees))
	for at := range p.trees {
		tops = append(tops, at)
	}
	slices.Sort(tops)
	for _, at := range tops {
		below := map[string]image.File{}
		for _, k := range p.kept(p.trees[at]) {
			if sub := path.Join(at, k.Rel); !p.freed[sub] && !p.overruled(at, sub) {
				below[sub] = k.File
			}
		}
		if f := p.found[at]; !isDir(at) && !p.differs(at, below) {
			f.Tree = p.trees[at]
			out[at] = f
			for q := range p.found {
				if strings.HasPrefix(q, at+"/") {
					delete(out, q)
				}
			}
			continue
		}
		for sub, f := range below {
			if _, known := p.found[sub]; !known {
				out[sub] = f
			}
		}
	}
	return out
}

func (p *past) inTree(at string) bool {
	for d := path.Dir(at); d != "/" && d != "."; d = path.Dir(d) {
		if p.trees[d] != "" {
			return true
		}
	}
	return false
}

// same compares two images of a path, with the time of an object other than a directory. The time of an absent
// path has no meaning.
func same(a, b image.File) bool {
	timeless := a.Type == image.Directory || a.Type == image.Absent
	return a.Same(&b) && (timeless || a.MTime == b.MTime)
}

// overruled reports whether a directory between a stored directory and a path in it was
// changed before the directory was stored. Then the image of the path follows from that
// change.
func (p *past) overruled(top, at string) bool {
	for d := path.Dir(at); d != top; d = path.Dir(d) {
		if f, ok := p.found[d]; ok && (p.trees[d] != "" || f.Type != image.Directory) {
			return true
		}
	}
	return false
}

// differs tells whether runs had changed anything in a directory before it was
// kept.
func (p *past) differs(top string, below map[string]image.File) bool {
	for at, f := range p.found {
		if !strings.HasPrefix(at, top+"/") {
			continue
		}
		k, there := below[at]
		switch {
		case p.trees[at] != "", !there && f.Type != image.Absent && !p.overruled(top, at):
			return true
		case there && !same(k, f):
			return true
		}
	}
	return false
}

// lookWhole looks at paths that are restored as they were, with everything that a
// capture keeps of them.
func (x *planner) lookWhole(seen *observed, paths []string) {
	for _, p := range paths {
		a := addr.File(p)
		now, known := seen.images[a]
		if !known {
			f, err := capture.Look(x.host, p, x.trusted(false))
			if err != nil {
				seen.failed[a] = err
				continue
			}
			now = image.Of(&f)
		}
		meta, err := capture.Metadata(x.host, p)
		if err != nil || now.File() == nil || now.File().Type != meta.Type {
			continue
		}
		f := *now.File()
		f.Xattrs, f.Attrs = meta.Xattrs, meta.Attrs
		seen.images[a] = image.Of(&f)
	}
}

// inOrigins returns the images below stored directories that a plan may restore one by one, by
// path. They belong to entries that are no longer desired, or were purged.
func (x *planner) inOrigins(entries []journal.Entry, wanted step.List) map[string]image.File {
	out := map[string]image.File{}
	keep := addrsOf(wanted)
	for _, e := range entries {
		if e.Origin == nil || e.Origin.File() == nil || e.Origin.File().Tree == "" || keep[e.Addr] && e.PurgedBy == "" {
			continue
		}
		if !keep[e.Addr] && !x.isDir(e.Addr.Path()) {
			continue // it is restored in one piece
		}
		for _, k := range x.kept(e.Origin.File().Tree) {
			out[path.Join(e.Addr.Path(), k.Rel)] = k.File
		}
	}
	return out
}

// attributed returns the paths that a plan may remove and whose origin has attributes. An observation
// does not read the attributes that no step declares.
func attributed(entries []journal.Entry, wanted step.List) []string {
	var out []string
	keep := addrsOf(wanted)
	for _, e := range entries {
		if e.Addr.Kind() != addr.KindFile || keep[e.Addr] || e.Origin == nil || e.Origin.File() == nil {
			continue
		}
		if f := e.Origin.File(); len(f.Xattrs) > 0 || f.Attrs != 0 {
			out = append(out, e.Addr.Path())
		}
	}
	return out
}

func addrsOf(l step.List) map[addr.Addr]bool {
	out := make(map[addr.Addr]bool, len(l))
	for _, s := range l {
		out[s.Addr()] = true
	}
	return out
}

// lookInto reads the directories that the plan removes or replaces by another type of
// file, since they may contain files of other owners. It also reads the parent
// directories of restored paths.
func (x *planner) lookInto(seen *observed, entries []journal.Entry, wanted step.List) {
	keep := addrsOf(wanted)
	for _, e := range entries {
		x.lookAbove(seen, e)
		now := seen.images[e.Addr].File()
		if e.Origin == nil || e.Origin.File() == nil || e.Origin.File().Type == image.Directory ||
			now == nil || now.Type != image.Directory || now.Entries != nil || e.Origin.File().Type == image.Absent &&
			keep[e.Addr] {
			continue
		}
		f := *now
		var err error
		if f.Entries, err = x.host.ReadDir(e.Addr.Path()); err != nil {
			seen.failed[e.Addr] = err
			continue
		}
		seen.images[e.Addr] = image.Of(&f)
	}
}

// lookAbove records which parents of a path that may be restored are no longer
// directories.
func (x *planner) lookAbove(seen *observed, e journal.Entry) {
	file := e.Addr.Kind() == addr.KindFile && e.Origin != nil && e.Origin.File() != nil && !e.Origin.Absent()
	if !file && e.Addr.Kind() != addr.KindEdit {
		return
	}
	for d := path.Dir(e.Addr.Path()); d != "/"; d = path.Dir(d) {
		a := addr.File(d)
		if _, known := seen.images[a]; known || x.isDir(d) {
			continue
		}
		if f, err := capture.Look(x.host, d, x.trusted(false)); err == nil {
			seen.images[a] = image.Of(&f)
		}
	}
}

// displacement is one change of a path by a run.
type displacement struct {
	path     string
	from, to image.File
}
