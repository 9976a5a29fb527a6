package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// paths executes a batch of path changes. The first change that fails ends the batch; the changes
// before it are made.
func (r *run) paths(indexes []int) error {
	var b move.Batch
	made := map[string]bool{}
	for k, i := range indexes {
		m, err := r.prepare(i, made)
		if k > 0 && errors.Is(err, move.ErrHardLinks) { // earlier changes may remove the other names
			return r.inTwo(indexes[:k], indexes[k:])
		}
		if err != nil {
			return r.partly(indexes[:k], i, err)
		}
		if m != nil {
			b.Moves = append(b.Moves, m)
			made[m.Path] = m.From.Type == image.Absent && m.To.Type == image.Directory
		}
	}
	at, err := r.commit(&b, false)
	if cut(err) {
		return err
	}
	if first := before(indexes, at); len(first) > 0 && unreached(err) {
		return r.inTwo(first, indexes[len(first):])
	}
	if err != nil {
		return r.partly(before(indexes, at), at, err)
	}
	return r.validateInPlace(indexes)
}

// unreached reports whether the parent directory of a change was missing while staging. The same batch
// may create it under another name, through a symbolic link.
func unreached(err error) bool {
	var me *move.Error
	return errors.As(err, &me) && me.What == "write" && errors.Is(err, fs.ErrNotExist)
}

// inTwo executes a batch as two batches, so that the second finds the directories that the first
// created. A change that still fails is then the first of its batch.
func (r *run) inTwo(first, second []int) error {
	if err := r.paths(r.toDo(first)); err != nil {
		return err
	}
	return r.paths(r.toDo(second))
}

func (r *run) toDo(indexes []int) []int {
	return slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.m.Status(i) != Do })
}

// before returns the indexes in front of change i.
func before(indexes []int, i int) []int {
	for k, x := range indexes {
		if x == i {
			return indexes[:k]
		}
	}
	return nil
}

// partly makes the changes before the failed one, then marks this one as failed.
func (r *run) partly(first []int, failed int, err error) error {
	if todo := r.toDo(first); len(todo) > 0 {
		if err2 := r.paths(todo); err2 != nil {
			return err2
		}
	}
	return r.fail(failed, StepFailed, r.placed(failed, err))
}

// prepare captures the path of a change and computes its target. It returns nil if nothing needs to be
// done. made contains the directories that this batch creates at absent paths.
func (r *run) prepare(i int, made map[string]bool) (*move.Move, error) {
	c, s := r.plan.Changes[i], r.m.Step(i)
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil, fmt.Errorf("cannot run %q: its verb does not change a path", s.Verb)
	}
	r.start(i)
	taken, err := r.take(c, s, made)
	if err != nil {
		return nil, err
	}
	now, err := r.addressNow(v, s, taken)
	if err != nil {
		return nil, err
	}
	to, err := r.addressTarget(v, c, s, now)
	if err != nil {
		return nil, err
	}
	r.fx[i].from, r.fx[i].to = now, to
	if now.Same(to) && sameTime(now, to) && c.Whole == nil && !(c.Action == plan.Remove && to.Region != nil && now.Region.Leaves(*to.Region)) {
		return nil, r.unchanged(i)
	}
	pt, err := v.(verb.Pather).PathTarget(r.ctx, r.env, s, taken, to)
	if err != nil {
		return nil, err
	}
	if to.Region != nil && pt.Type == image.Regular {
		pt.MTime = to.Region.TimeOf(pt)
	}
	pt = r.exactly(i, taken.File, pt)
	return r.moveTo(i, s, taken, pt)
}

// sameTime reports whether a restored path already has its old modification time. A path that a step
// computes has no required time.
func sameTime(now, to image.Image) bool {
	return to.File == nil || to.File.MTime == 0 || to.File.MTime == now.File.MTime
}

func (r *run) moveTo(i int, s step.Step, taken capture.Taken, to image.File) (*move.Move, error) {
	p := s.Path()
	if taken.File.Same(to) && (to.MTime == 0 || to.MTime == taken.MTime) {
		return nil, r.unchanged(i)
	}
	m := &move.Move{Change: i, Path: p, From: taken, To: to, Temp: move.TempFor(p, r.header.Run, i, false)}
	if v := s.Get("validate"); r.validates(i) && strings.Contains(v, "%s") && s.Verb == step.Copy && to.Type == image.Regular {
		m.Validate = func(temp string) error {
			r.at = i
			return r.validate(v, temp)
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, r.content(to.Digest)
}

// take stores the present content of the path of a step. A directory that this batch will create has
// no content yet; if it appears meanwhile, the rename fails.
func (r *run) take(c plan.Change, s step.Step, made map[string]bool) (capture.Taken, error) {
	if made[path.Dir(s.Path())] {
		return capture.Taken{File: image.File{Type: image.Absent}}, nil
	}
	if takesWhole(c, s) {
		return capture.TakeTree(r.Host, r.Store, s.Path())
	}
	return capture.Take(r.Host, r.Store, s.Path())
}

// takesWhole reports whether the directory at the path is removed with all of its content.
func takesWhole(c plan.Change, s step.Step) bool {
	if c.To != nil && c.To.File != nil && (c.Action == plan.Remove || c.Action == plan.Restore) && s.Verb != step.Meta {
		switch c.To.File.Type {
		case image.Directory:
			return c.To.File.Tree != ""
		case image.Absent:
			return s.Verb == step.Rm || c.Action == plan.Restore && s.Verb != step.Mkdir
		}
		return true
	}
	return s.Verb == step.Rm || c.Action == plan.Purge || c.Action == plan.Restore && (s.Verb == step.Copy || s.Verb == step.Link)
}

// addressNow returns the present image of the address. For most verbs this is the image of the path.
func (r *run) addressNow(v verb.Verb, s step.Step, taken capture.Taken) (image.Image, error) {
	if s.Verb == step.Edit {
		now, err := v.Observe(r.ctx, r.env, s)
		if err == nil {
			now.Region.Was = []image.Version{{Digest: taken.Digest, MTime: taken.MTime}}
			r.asBeforeEdits(s, now.Region)
		}
		return now, err
	}
	f := taken.File
	if s.Verb == step.Meta {
		f.Digest, f.Size = "", 0
	}
	return image.Image{File: &f}, nil
}

// addressTarget returns the image that the address should have: the image in the plan for a restore,
// and otherwise the result of the step on the present image.
func (r *run) addressTarget(v verb.Verb, c plan.Change, s step.Step, now image.Image) (image.Image, error) {
	if c.To != nil && (c.Action == plan.Remove || c.Action == plan.Purge || c.Found && c.Action == plan.Restore) {
		return r.unlessShared(s, *c.To), nil
	}
	if c.Action == plan.Restore && s.Verb != step.Meta && c.To != nil && c.To.File != nil && c.To.File.MTime != 0 {
		// Only if the step asks for this image, which a plan from before the accounts existed could
		// not determine.
		if c.To.File.Tree != "" || r.stillAsksFor(v, s, c.To) {
			return *c.To, nil
		}
	}
	if s.Verb == step.Meta && c.Then != nil && now.File != nil && c.Then.File != nil && now.File.Type == c.Then.File.Type {
		return plan.Redressed(now, *c.Then), nil
	}
	if r.stillAsksFor(v, s, c.Then) {
		return *c.Then, nil
	}
	if f := now.File; f != nil && f.Type == image.Symlink && s.Verb == step.Mkdir && c.From != nil && now.Same(*c.From) {
		now = image.Image{File: &image.File{Type: image.Absent}} // a link of fettle, as the plan checked
	}
	if f := now.File; f != nil && f.Type == image.Directory && s.Verb != step.Mkdir {
		names, err := r.Host.ReadDir(s.Path())
		if err != nil {
			return image.Image{}, err
		}
		g := *f
		g.Entries = names
		now = image.Image{File: &g}
	}
	to, err := v.Target(s, r.forTarget(s, now), r.Names)
	return r.inOldPlace(s, now, r.asFoundFirst(s, to)), err
}

// stillAsksFor reports whether a step asks for exactly an earlier image.
func (r *run) stillAsksFor(v verb.Verb, s step.Step, then *image.Image) bool {
	if then == nil {
		return false
	}
	t, err := v.Target(s, *then, r.Names)
	return err == nil && t.Same(*then)
}

// content ensures that the store has the content to write. It distinguishes a failed lookup from
// missing content.
func (r *run) content(digest string) error {
	if digest == "" || r.Store.Has(digest) {
		return nil
	}
	f, _, err := r.Store.Open(digest)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return fmt.Errorf("cannot find the content %s: it is neither in the repository nor in the state directory of this host", digest)
}

// unchanged marks a change that has nothing to do. If another change of this run produced the state of
// its path, the path differs from before the run, so its actions run.
func (r *run) unchanged(i int) error {
	if err := r.found(i, r.fx[i].from); err != nil {
		return err
	}
	if r.doneByAnother(i) {
		if err := r.log(r.settled(i)...); err != nil {
			return err
		}
	}
	r.m.Set(i, Done)
	r.event("done", i, "already in sync")
	return nil
}

// doneByAnother reports whether this run already made a planned change of a path through another
// address.
func (r *run) doneByAnother(i int) bool {
	c, to := r.plan.Changes[i], r.fx[i].to
	if c.Addr.Kind() != addr.KindFile || !c.Action.Mutates() || c.From == nil || c.From.Same(to) {
		return false
	}
	for k := range r.fx[:i] {
		if r.plan.Changes[k].Addr.Path() == c.Addr.Path() && r.fx[k].changed {
			return true
		}
	}
	return false
}

// isUnitFile reports whether systemd reads the path in a reload.
func isUnitFile(p string) bool {
	for _, dir := range []string{"/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/lib/systemd/", "/usr/local/lib/systemd/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

// ownImage reports whether an address has an image of its own in addition to that of its path.
func ownImage(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }

// isPath reports whether a change is made with path moves.
func isPath(a addr.Addr) bool {
	switch a.Kind() {
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		return true
	}
	return false
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
	for _, fx := range r.fx {
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
	return err == nil && now.File.Same(f) && now.MTime == f.MTime
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
