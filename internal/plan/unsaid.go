package plan

import (
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// withoutUnsaid restores properties that an earlier list set and this list omits: the owner, group or
// mode of a directory, or the hold of a package. Such a property returns to its origin, unless it was
// changed outside of runs. The result therefore does not depend on lists in between. The second result
// reports whether a property is restored.
func (m *index) withoutUnsaid(s step.Step, now image.Image, e journal.Entry) (image.Image, bool) {
	old := e.Step
	if s.Verb == step.Pkg && m.in.Goal == nil {
		return withoutUnsaidHold(s, old, now, e.Origin)
	}
	if s.Verb != step.Mkdir || m.in.Goal != nil || e.Origin == nil {
		return now, false
	}
	if old.Verb != step.Mkdir {
		return m.asOrigin(s, now, e)
	}
	if !isDirectory(now.File()) {
		return now, false
	}
	was, err := m.in.Rules.Target(old, now)
	if err != nil || !isDirectory(was.File()) {
		return now, false
	}
	origin := image.File{Mode: 0o755}
	if isDirectory(e.Origin.File()) {
		origin = *e.Origin.File()
	}
	gone := func(key string) bool { return old.Get(key) != "" && s.Get(key) == "" }
	f := *now.File()
	if gone("owner") && f.UID == was.File().UID {
		f.UID = origin.UID
	}
	if gone("group") && f.GID == was.File().GID {
		f.GID = origin.GID
	}
	if gone("mode") && f.Mode == was.File().Mode {
		f.Mode = origin.Mode
	}
	return image.Of(&f), f.UID != now.File().UID || f.GID != now.File().GID || f.Mode != now.File().Mode
}

// asOrigin returns the directory of the origin, empty, for a path where an earlier list had a file, a link or
// nothing. A directory that is created there again has its earlier metadata. The removed content does not return.
func (m *index) asOrigin(s step.Step, now image.Image, e journal.Entry) (image.Image, bool) {
	if now.File() == nil || isDirectory(now.File()) || !isDirectory(e.Origin.File()) {
		return now, false
	}
	if !now.Absent() && (e.Step.Absent() || m.drifted(e, now)) {
		return now, false
	}
	f := *e.Origin.File()
	f.Tree, f.Entries = "", nil
	origin := image.Of(&f)
	made, err := m.in.Rules.Target(s, now)
	if err != nil {
		return origin, true
	}
	like, err := m.in.Rules.Target(s, origin)
	return origin, err == nil && !like.Same(made)
}

func withoutUnsaidHold(s, old step.Step, now image.Image, origin *image.Image) (image.Image, bool) {
	said, was := old.Lookup("held")
	_, is := s.Lookup("held")
	if !was || is || now.Package() == nil || now.Package().Version == "" || origin == nil || origin.Package() == nil {
		return now, false
	}
	if now.Package().Held != (said == "true") || now.Package().Held == origin.Package().Held {
		return now, false
	}
	p := *now.Package()
	p.Held = origin.Package().Held
	return image.Of(&p), true
}
