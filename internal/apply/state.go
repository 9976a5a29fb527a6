package apply

import (
	"bytes"
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

// nextState returns the applied state after the run: the base with each change that took effect. It
// reads nothing but stored trees.
func (r *successor) nextState(outcome journal.Outcome) journal.State {
	if outcome == journal.RolledBack {
		st := r.base
		st.Format, st.Run, st.Pending = 1, r.header.Run, r.actions.left()
		st.Entries = r.interrupted(st.Entries)
		return st
	}
	entries := byAddr(r.base.Entries)
	for i := range r.plan.Changes {
		r.enter(entries, i)
	}
	r.keepOrigins(entries)
	r.passOn(entries)
	ended := outcome == journal.Succeeded || outcome == journal.CheckFailed
	st := journal.State{Format: 1, Run: r.header.Run, List: r.header.List, Target: r.header.Target,
		Revision: r.header.Revision, Repository: r.header.Repository, Complete: !r.header.Partial && ended}
	st.Entries = r.ordered(entries)
	r.dropUntold()
	st.Pending = r.actions.left()
	return st
}

func byAddr(entries []journal.Entry) map[addr.Addr]journal.Entry {
	out := make(map[addr.Addr]journal.Entry, len(entries))
	for _, e := range entries {
		out[e.Addr] = e
	}
	return out
}

// enter applies the effect of one change to the entries.
func (r *successor) enter(entries map[addr.Addr]journal.Entry, i int) {
	c, s := r.plan.Changes[i], r.machine.Status(i)
	if c.Addr.Kind() == addr.KindExec && s != Done {
		r.notDone(entries, i)
		return
	}
	partly := s == Failed && r.effects[i].changed || s == Stuck
	if s != Done && !partly {
		return
	}
	old, had := entries[c.Addr]
	switch c.Action {
	case plan.Remove, plan.Forget:
		if !partly {
			delete(entries, c.Addr)
		}
		return
	case plan.Blocked:
		if len(c.Needed) > 0 && had {
			entries[c.Addr] = withoutPurge(old)
		}
		return
	case plan.Drift, plan.Verify, plan.Wait:
		return
	case plan.Restore:
		if c.Step.IsZero() {
			return // a path that is not managed
		}
	}
	if c.Addr.Kind() == addr.KindAct {
		return
	}
	e := journal.Entry{Addr: c.Addr, Step: c.Step, Src: c.Source, Run: r.header.Run, FirstRun: r.header.Run, PurgedBy: c.PurgedBy}
	if had {
		e.Origin, e.Adopted, e.FirstRun, e.Run = old.Origin, old.Adopted, old.FirstRun, old.Run
	}
	e.Output, e.Undo = outputOf(old, e, r.effects[i].to), undoOf(old, e)
	if r.effects[i].changed {
		e.Run = r.header.Run
		e.Origin, e.Adopted = r.originAfter(entries, i, e, had), nil
	} else if !had { // it was already in sync
		if e.Origin = r.adoptedPackage(entries, i); e.Origin == nil {
			e.Adopted = known(r.effects[i].from)
		}
	}
	entries[c.Addr] = e
}

// withoutPurge returns the entry of a directory that left the list, and stays while the list has paths
// in it. Its other content is no longer purged.
func withoutPurge(e journal.Entry) journal.Entry {
	s := e.Step
	s.Attrs = slices.DeleteFunc(slices.Clone(s.Attrs), func(a step.Attr) bool { return a.Key == "purge" })
	e.Step = step.Step{Verb: s.Verb, Args: s.Args, Attrs: s.Attrs}.Stored()
	return e
}

// withTree adds to the origin of a directory its other content, which is known after the directory was
// captured as a whole.
func withTree(origin *image.Image, from image.Image) *image.Image {
	o, f := origin.File(), from.File()
	if o == nil || f == nil || o.Type != image.Directory || f.Type != image.Directory || o.Tree != "" {
		return origin
	}
	whole := *o
	whole.Tree = f.Tree
	return new(image.Of(&whole))
}

// leftToOthers reports whether a rollback managed a path again that must be absent, and left the object of others
// there. They can change it until a run removes it, so the image before this removal is the origin.
func leftToOthers(c plan.Change, adopted image.Image) bool {
	return stepOf(c).Verb == step.Rm && adopted.File() != nil && adopted.File().Type != image.Absent
}

// originAfter returns the origin of an entry whose address change i changed.
func (r *successor) originAfter(entries map[addr.Addr]journal.Entry, i int, e journal.Entry, had bool) *image.Image {
	c, from := r.plan.Changes[i], r.effects[i].from
	o := e.Origin
	switch {
	case o == nil && e.Adopted != nil && !leftToOthers(c, *e.Adopted):
		now := r.keptAbove(entries, c.Addr, *e.Adopted)
		o = withVersions(&now, from)
	case o == nil && (!had || e.Adopted != nil):
		o = origin(r.keptAbove(entries, c.Addr, from))
	case o == nil:
		o = origin(from)
	default:
		o = broughtSince(o, from)
	}
	if c.Action == plan.Purge || stepOf(c).Verb == step.Rm {
		o = r.ofOthers(o, from)
	}
	return r.originOfPackage(entries, withPlace(withTree(o, from), from))
}

// ofOthers returns the origin of a directory that fettle created, and that a purge or a step removes
// together with other files. Without the removal, these files would keep the directory. An empty
// directory keeps its origin.
func (r *successor) ofOthers(origin *image.Image, from image.Image) *image.Image {
	f := from.File()
	if f == nil || f.Type != image.Directory || origin.File() == nil || !origin.Absent() || !r.holdsAny(f.Tree) {
		return origin
	}
	return &from
}

// holdsAny reports whether a stored tree contains files. An unreadable tree may contain some.
func (r *successor) holdsAny(tree string) bool {
	any := false
	err := capture.ReadTree(r.Store, tree, func(capture.TreeEntry) error {
		any = true
		return nil
	})
	return tree != "" && (any || err != nil)
}

// origin returns a before-image in the form that an entry stores.
func origin(i image.Image) *image.Image {
	if !i.Known() {
		return new(image.Of(&image.Exec{}))
	}
	return &i
}

// ordered returns the entries in the order of the list. Entries that the list does not have, and that
// still exist, are first; entries that a purge removed are last.
func (r *successor) ordered(entries map[addr.Addr]journal.Entry) []journal.Entry {
	out, others := make([]journal.Entry, 0, len(entries)), map[addr.Addr]bool{}
	for _, c := range r.plan.Changes {
		others[c.Addr] = c.ChangedByOthers
	}
	take := func(e journal.Entry) {
		if !others[e.Addr] {
			e = r.asThen(e)
		}
		out = append(out, e)
		delete(entries, e.Addr)
	}
	inList := map[addr.Addr]bool{}
	for _, s := range r.wanted {
		inList[s.Addr()] = true
	}
	for _, e := range r.base.Entries {
		if e, ok := entries[e.Addr]; ok && !inList[e.Addr] && e.PurgedBy == "" {
			take(e)
		}
	}
	for _, s := range r.wanted {
		e, ok := entries[s.Addr()]
		if !ok {
			continue
		}
		if s.Source != "" && e.Step.Same(s) {
			e.Src = s.Source
		}
		take(e)
	}
	return append(out, r.purged(entries)...)
}

// asThen returns the entry of the restored state with the original image from before that state. An
// address that was adopted then, and that fettle has changed since, has an origin. The undo of a
// command is copied from the entry of the run: it covers the versions that ran since the origin.
func (r *successor) asThen(e journal.Entry) journal.Entry {
	then, ok := r.goal[e.Addr]
	if !ok || !then.Step.Same(e.Step) {
		return e
	}
	switch {
	case e.Origin == nil:
	case then.Adopted != nil && r.keptAbove(r.goal, e.Addr, *then.Adopted).Absent() != then.Adopted.Absent():
		// its origin is in the stored tree of a directory, as it was then
	case then.Adopted != nil:
		then.Origin, then.Adopted = then.Adopted, nil
	case then.Origin == nil && !e.Undo.IsZero(): // only later versions of the command ran
		then.Origin = e.Origin
	}
	then.Failed, then.Undo = then.Failed || e.Failed, e.Undo
	return then
}

// purged returns the remaining entries: first from the base, then from this plan.
func (r *successor) purged(entries map[addr.Addr]journal.Entry) []journal.Entry {
	var out []journal.Entry
	for _, old := range r.base.Entries {
		if e, ok := entries[old.Addr]; ok {
			out = append(out, e)
			delete(entries, old.Addr)
		}
	}
	for _, c := range r.plan.Changes {
		if e, ok := entries[c.Addr]; ok {
			out = append(out, r.asThen(e))
			delete(entries, c.Addr)
		}
	}
	return out
}

// dropUntold removes the pending actions that the plan forgets.
func (r *successor) dropUntold() {
	for i, c := range r.plan.Changes {
		if c.Action == plan.Forget && c.Addr.Kind() == addr.KindAct && r.machine.Status(i) == Done {
			delete(r.actions.pending, c.Addr)
		}
	}
}

// keptAbove returns the origin of a path below a directory that fettle removed: the image of the path
// in the stored tree of the directory. If no stored tree contains the path, it returns now.
func (r *successor) keptAbove(entries map[addr.Addr]journal.Entry, a addr.Addr, now image.Image) image.Image {
	if now.File() == nil || now.File().Type != image.Absent || a.Kind() != addr.KindFile {
		return now
	}
	rel := path.Base(a.Path())
	for d := path.Dir(a.Path()); d != "/" && d != "."; d = path.Dir(d) {
		if tree := treeOf(entries[addr.File(d)]); tree != "" {
			return r.inTree(tree, rel, now)
		}
		rel = path.Join(path.Base(d), rel)
	}
	return now
}

// keepOrigins gives paths in a directory that is no longer managed their origin. fettle had removed the directory with
// the path in it, and the stored tree with the path belongs to the entry of the directory.
func (r *successor) keepOrigins(entries map[addr.Addr]journal.Entry) {
	before, gone := byAddr(r.base.Entries), map[addr.Addr]journal.Entry{}
	for a, e := range before {
		if _, managed := entries[a]; !managed && treeOf(e) != "" {
			gone[a] = e
		}
	}
	if len(gone) == 0 {
		return
	}
	for a, e := range entries {
		if before[a].Origin != nil || !beganAbsent(e) {
			continue
		}
		absent := image.Of(&image.File{Type: image.Absent})
		if kept := r.keptAbove(gone, a, absent); !kept.Absent() {
			e.Origin, e.Adopted = &kept, nil
			entries[a] = e
		}
	}
}

// beganAbsent reports whether the path of an entry was absent when fettle began to manage it.
func beganAbsent(e journal.Entry) bool {
	first := e.Origin
	if first == nil {
		first = e.Adopted
	}
	return first != nil && first.File() != nil && first.Absent()
}

// treeOf returns the stored tree of the directory that an entry found, or "".
func treeOf(e journal.Entry) string {
	if e.Origin == nil || e.Origin.File() == nil {
		return ""
	}
	return e.Origin.File().Tree
}

// inTree returns the image of a path in a stored tree; a directory gets a stored tree of its own. If
// the tree cannot be read, it returns otherwise, and the restore reports the error.
func (r *successor) inTree(tree, rel string, otherwise image.Image) image.Image {
	var found *image.File
	var below bytes.Buffer
	err := capture.ReadTree(r.Store, tree, func(e capture.TreeEntry) error {
		at := string(e.Rel)
		if at == rel {
			found = &e.File
		}
		sub, ok := strings.CutPrefix(at, rel+"/")
		if !ok {
			return nil
		}
		e.Rel, e.Same = []byte(sub), cutSame(e.Same, rel)
		line, err := journal.Marshal(e)
		below.Write(append(line, '\n'))
		return err
	})
	if err != nil || found == nil {
		return otherwise
	}
	if found.Type == image.Directory {
		if found.Tree, _, err = r.Store.Put(&below); err != nil {
			return otherwise
		}
	}
	return image.Of(found)
}

// cutSame returns the first name of a hard-linked inode relative to a directory. It returns nil if
// that name is outside of the directory, so the second name becomes a separate file.
func cutSame(same []byte, rel string) []byte {
	sub, ok := bytes.CutPrefix(same, []byte(rel+"/"))
	if !ok {
		return nil
	}
	return sub
}
