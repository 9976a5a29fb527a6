package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// exact returns the exact image of the goal of a rollback, also if the step does not ask for it. This
// applies to regions and metadata.
func (m *index) exact(s step.Step, now, to image.Image) image.Image {
	before := m.then(s.Addr())
	switch {
	case before == nil, to.Package() != nil && to.Package().Purged:
		return to
	case s.Verb == step.Meta && now.File() != nil && before.File() != nil && now.File().Type == before.File().Type:
		return WithEarlierMetadata(now, *before)
	case s.Verb == step.Meta:
		return to
	case s.Verb == step.Edit && before.Region() != nil && len(before.Region().Encrypted) == 0:
		return *before
	}
	if t, err := m.in.Rules.Target(s, *before); err == nil && t.Same(*before) {
		return *before
	}
	return to
}

// madeFile reports whether an edit was, in the goal of a rollback, a part of a file that fettle had
// created. A later run removed the file with its last part. The rollback creates the file again, also
// if the step of the goal has no create=true.
func (m *index) madeFile(a addr.Addr, then image.Image) bool {
	if then.Region() == nil || !then.Region().Present {
		return false
	}
	e := m.goal[a]
	return e.Origin != nil && e.Origin.Region() != nil && e.Origin.Region().FileAbsent
}

// withoutOurLink treats a path as absent if it is a link exactly as fettle created it, so that a
// directory can replace it. A link of others stays in the way.
func (m *index) withoutOurLink(s step.Step, now image.Image, e journal.Entry) image.Image {
	if s.Verb != step.Mkdir || now.File() == nil || now.File().Type != image.Symlink {
		return now
	}
	if e.Origin == nil {
		return now
	}
	if old := e.Step; old.Verb != step.Link || m.drifted(e, now) {
		return now
	}
	return image.Of(&image.File{Type: image.Absent})
}
