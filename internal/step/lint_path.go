package step

import (
	"path"
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// refused are the trees in which no step may write, and why.
func refused() [5]struct{ tree, why string } {
	const kernel = "The kernel creates its content, which is lost at the next boot."
	const ours = "fettle stores its journals and locks there."
	return [5]struct{ tree, why string }{
		{"/proc", kernel + " For a setting below /proc/sys use SYSCTL."}, {"/sys", kernel}, {"/dev", kernel},
		{"/run/fettle", ours}, {"/var/lib/fettle", ours},
	}
}

// below reports whether p is the tree, which is not /, or is inside it.
func below(p, tree string) bool {
	return p == tree || (strings.HasPrefix(p, tree) && p[len(tree)] == '/')
}

// allowed refuses paths that no step is allowed to write.
func (l *linter) allowed(s Step, p string) bool {
	if p[0] != '/' || path.Clean(p) != p {
		l.errorf(s, s.subjectRange(pathSubject(s)), "Path is not clean",
			"%q is not a clean path, so two steps could write the same file undetected. Write %q.", clip(p),
			clip(path.Clean("/"+p)))
		return false
	}
	for _, f := range refused() {
		if below(p, f.tree) {
			l.errorf(s, s.subjectRange(pathSubject(s)), "Path out of bounds", "No step may write below %s. %s", f.tree, f.why)
			return false
		}
	}
	return true
}

// pathSubject is the place of the path among a step's subjects.
func pathSubject(s Step) int {
	if s.Verb == Copy || s.Verb == Link {
		return 1
	}
	return 0
}

// paths checks the path against the rest of the list and the base.
func (l *linter) paths(i int, s Step, p string) {
	l.aliased(s, p)
	l.shared(s, p)
	if l.blocked(s, p) {
		return
	}
	switch s.Verb {
	case Rm:
		if l.base.HasDir(p) {
			l.errorf(s, s.subjectRange(0), "Removal of a base directory",
				"%q belongs to the base system, and RM removes a whole tree. Name the path below it that should be removed.",
				clip(p))
		}
	case Mkdir, Copy, Link:
		l.parent(i, s, p)
	case Edit:
		if s.Get("create") == "true" {
			l.parent(i, s, p)
		}
	}
}

// aliased warns of a path through one of Debian's links, where a second name
// for the same file would pass unseen.
func (l *linter) aliased(s Step, p string) {
	for _, a := range []struct{ link, to string }{
		{"/bin", "/usr/bin"}, {"/sbin", "/usr/sbin"}, {"/lib", "/usr/lib"}, {"/lib64", "/usr/lib64"},
		{"/var/run", "/run"}, {"/var/lock", "/run/lock"},
	} {
		if p != a.link && below(p, a.link) {
			l.warnf(s, s.subjectRange(pathSubject(s)), "Path through a link",
				"On Debian %s is a link to %s. Write %q, the file's own name.", a.link, a.to, clip(a.to+p[len(a.link):]))
		}
	}
}

// shared reports a file that one step writes as a whole and another one in part.
func (l *linter) shared(s Step, p string) {
	j, ok := l.first[addr.File(p)]
	if !ok {
		return
	}
	o := l.list[j]
	switch {
	case s.Verb == Edit && (o.Verb == Copy || o.Verb == Link || o.Verb == Rm || o.Verb == Mkdir):
		l.errorf(s, s.subjectRange(0), "Edit of a file that the list writes",
			"%s writes the whole of %q, at %s, and would remove the edit in the next run. Put the text into that file.",
			o.Verb, clip(p), where(o, j))
	case s.Verb == Meta && o.Verb == Rm:
		l.errorf(s, s.subjectRange(0), "Metadata of a path that is removed", "RM removes %q, at %s. Keep one of the two.",
			clip(p), where(o, j))
	case s.Verb == Meta:
		l.sharedMetadata(s, o, j, p)
		l.sharedACL(s, o, j, p)
	}
}

// sharedMetadata reports metadata that META sets on a path in addition to the step that writes it.
// If the two differ, each would revert the other at every run.
func (l *linter) sharedMetadata(s, o Step, j int, p string) {
	for _, k := range []string{"owner", "group", "mode"} {
		v, ok := s.Lookup(k)
		if _, said := o.Lookup(k); !ok || o.Verb == Link && k == "mode" || o.Verb == Mkdir && !said {
			continue
		}
		if w := o.metadata(k); sameMetadata(v, w) {
			l.warnf(s, s.keyRange(k, 0), "Metadata written twice", "%s gives %q its %s too, at %s. Write it there.", o.Verb,
				clip(p), k, where(o, j))
		} else {
			l.errorf(s, s.keyRange(k, 0), "Two steps disagree",
				"%s gives %q %s=%s, at %s, and META gives it %s=%s: the two would undo each other in every run. Write %s=%s there.",
				o.Verb,
				clip(
					p), k, clip(w), where(o, j), k, clip(v), k, clip(v))
		}
	}
}

// metadata returns the owner, group or mode that a step sets on its path. COPY and LINK also set an
// omitted one.
func (s Step) metadata(key string) string {
	if v, ok := s.Lookup(key); ok {
		return v
	}
	if key != "mode" {
		return "root"
	}
	return "0644"
}

// sameMetadata reports whether two values mean the same on every host.
func sameMetadata(v, w string) bool {
	number := func(s string) string {
		if s == "root" {
			return "0"
		}
		return strings.TrimLeft(s, "0")
	}
	return v == w || number(v) == number(w) || number(v)+number(w) == "0"
}

// blocked refuses a path below something that the list makes no directory.
func (l *linter) blocked(s Step, p string) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		j, ok := l.first[addr.File(d)]
		if !ok || l.list[j].Verb == Mkdir {
			continue
		}
		o, r := l.list[j], s.subjectRange(pathSubject(s))
		switch {
		case o.Verb == Copy:
			l.errorf(s, r, "Path below a file", "%q is a regular file, at %s, so no path can be below it.", clip(d), where(o, j))
		case o.Verb == Link:
			l.errorf(s, r, "Path below a link", "%q is a link to %q, at %s. Write the path at the destination of the link.",
				clip(d), clip(o.Args[0]), where(o, j))
		case o.Verb == Rm && s.Verb != Rm:
			l.errorf(s, r, "Path below a removed path", "RM removes %q with all paths below it, at %s. Keep one of the two.",
				clip(d), where(o, j))
		default:
			continue
		}
		return true
	}
	return false
}

// parent refuses a path in a directory that nothing before it can have made.
func (l *linter) parent(i int, s Step, p string) {
	dir := path.Dir(p)
	if p == "/" || l.made[dir] || l.base.HasDir(dir) || l.packages {
		return
	}
	r := s.subjectRange(pathSubject(s))
	if j, ok := l.first[addr.File(dir)]; ok && j > i && l.list[j].Verb == Mkdir {
		l.errorf(s, r, "Directory created too late",
			"The directory %q is created after this step, at %s. Steps run in the order of the list: move its step before this one.",
			clip(
				dir), where(l.list[j], j))
		return
	}
	if l.commands {
		l.warnf(s, r, "Directory may be missing",
			"No step creates the directory %q; an earlier command may create it. Write creates=… there, or add MKDIR.%s",
			clip(dir), question(l.near(dir, l.dirs)))
		return
	}
	if pkg := Ships(dir); pkg != "" {
		l.errorf(s, r, "Directory is missing",
			"No earlier step creates the directory %q, and the base system does not have it. The package %s provides it. Put PKG %s before this step.", clip(
				dir), pkg, pkg)
		return
	}
	l.errorf(s, r, "Directory is missing",
		"No earlier step creates the directory %q, and the base system does not have it.%s Put %s before this step.",
		clip(dir), question(l.near(dir, l.dirs)), clip(Step{Verb: Mkdir, Args: []string{dir}}.String()))
}
