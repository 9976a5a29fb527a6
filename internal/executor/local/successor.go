package local

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// successors are files that a release of Debian has moved, with the new path. The old
// path is a link to the new one, and the system creates it again if it is missing. An
// edit of the old file, made under an earlier release, continues in the new file and is
// removed and restored there.
func successors() [][2]string {
	return [][2]string{
		{"/etc/default/locale", "/etc/locale.conf"}, // Debian 13, by systemd-tmpfiles
	}
}

// successor returns where the host has the content of a file now, and false where the
// file has not moved.
func (x *planner) successor(p string) (string, bool) {
	for _, s := range successors() {
		if s[0] != p {
			continue
		}
		if st, err := x.host.Lstat(p); err != nil || st.Type != image.Symlink {
			return "", false
		}
		to, err := x.host.Readlink(p)
		if err == nil && !path.IsAbs(to) {
			to = path.Join(path.Dir(p), to)
		}
		return s[1], err == nil && path.Clean(to) == s[1]
	}
	return "", false
}

// moved returns the step in the file that has succeeded its own.
func (x *planner) moved(s step.Step) (step.Step, bool) {
	if s.Verb != step.Edit && s.Verb != step.Meta {
		return s, false
	}
	to, ok := x.successor(s.Path())
	if !ok {
		return s, false
	}
	args := slices.Clone(s.Args)
	args[0] = to
	now := step.Step{Verb: s.Verb, Args: args, Attrs: s.Attrs}.Stored()
	now.Source = s.Source
	return now, true
}

// movedEntry is moved for the step of an entry.
func (x *planner) movedEntry(e journal.Entry) (step.Step, bool) {
	if !ownsPart(e.Addr) {
		return step.Step{}, false
	}
	if _, ok := x.successor(e.Addr.Path()); !ok {
		return step.Step{}, false
	}
	return x.moved(e.Step)
}

// followed returns the applied entries with the paths that the host has today, and
// whether a path has changed. If two entries become one, the older entry determines the
// original content of a part of a file.
func (x *planner) followed(entries []journal.Entry) ([]journal.Entry, bool) {
	var out []journal.Entry
	at := map[addr.Addr]int{}
	for i, e := range entries {
		s, ok := x.movedEntry(e)
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(entries)
			for j, f := range out {
				at[f.Addr] = j
			}
		}
		out[i].Addr, out[i].Step = s.Addr(), s
		if j, twice := at[s.Addr()]; twice {
			out[j] = oneOf(out[i], out[j])
			out[i].Addr = ""
		}
	}
	if out == nil {
		return entries, false
	}
	return slices.DeleteFunc(out, func(e journal.Entry) bool { return e.Addr == "" }), true
}

// oneOf is the entry of an address that is applied under its old path and its new one.
func oneOf(old, now journal.Entry) journal.Entry {
	if old.Origin != nil {
		now.Origin, now.Adopted = old.Origin, nil
	}
	now.FirstRun = min(old.FirstRun, now.FirstRun)
	return now
}

// followedSteps is followed for the list of a state. A step is omitted if the list
// already has its new address.
func (x *planner) followedSteps(list step.List) step.List {
	out := make(step.List, 0, len(list))
	for _, s := range list {
		to, ok := x.moved(s)
		if ok && slices.ContainsFunc(list, func(o step.Step) bool { return o.Addr() == to.Addr() }) {
			continue
		}
		out = append(out, to)
	}
	return out
}

// followedImages is followed for images of addresses.
func (x *planner) followedImages(images map[addr.Addr]image.Image, entries []journal.Entry) {
	for _, e := range entries {
		s, ok := x.movedEntry(e)
		if img, known := images[e.Addr]; ok && known {
			delete(images, e.Addr)
			images[s.Addr()] = img
		}
	}
}
