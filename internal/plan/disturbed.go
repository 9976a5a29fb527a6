package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// disturbed returns why an address that is in sync now may change before its step runs, or "" if no
// earlier change affects it.
func (m *forecast) disturbed(s step.Step, now image.Image) string {
	switch {
	case m.underneath(s) || m.renumbered(s):
		return "an earlier step changes a part of it"
	case m.unsettled(now):
		return "an earlier package or command may change it"
	}
	return ""
}

// unsettled reports whether an address that must be absent, and is, could be created by a package or
// command of this plan.
func (m *forecast) unsettled(now image.Image) bool {
	return m.brings && (now.Absent() || now.Unit() != nil && !now.Unit().Loaded)
}

// underneath reports whether the file of a step changes before the step, is created, or is restored with a tree.
// The observed image is then invalid.
func (m *forecast) underneath(s step.Step) bool {
	p := s.Path()
	file := s.Addr().Kind() == addr.KindFile
	if (s.Verb == step.Edit || s.Verb == step.Meta) && m.changed[addr.File(p)] {
		return true
	}
	if s.Verb == step.Meta && m.made[p] {
		return true
	}
	if m.redressed && file && m.changed[addr.New(addr.KindMeta, p)] {
		return true
	}
	if _, edited := m.leaves[p]; edited && file && !m.changed[s.Addr()] {
		return true // a region that left the list is restored first
	}
	return m.inTree(p) || m.in.Goal == nil && s.Verb == step.Rm && m.behindLeftLink(p)
}

// behindLeftLink reports whether this plan leaves a link at a path above. The observed image is then another object.
func (m *forecast) behindLeftLink(p string) bool {
	for d := range parents(p) {
		if m.leaves[d] == image.Symlink {
			return true
		}
	}
	return false
}

// inTree reports whether a directory above a path is restored with all of its content.
func (m *forecast) inTree(p string) bool {
	if len(m.trees) == 0 {
		return false
	}
	for d := range parents(p) {
		if m.trees[d] != "" {
			return true
		}
	}
	return false
}

// renumbered reports whether an account in the step gets another number before the step.
func (m *forecast) renumbered(s step.Step) bool {
	if len(m.numbers) == 0 {
		return false
	}
	_, acl := s.Lookup("acl")
	return acl || m.numbers[addr.New(addr.KindUser, s.Get("owner"))] || m.numbers[addr.New(addr.KindGroup, s.Get("group"))]
}

// behindLink reports whether the path of a step leads through a link that this plan replaces. The
// observed file is then another file.
func (m *forecast) behindLink(s step.Step) bool {
	p := s.Path()
	if p == "" || !m.relinked {
		return false
	}
	for d := range parents(p) {
		a := addr.File(d)
		if f := m.in.Observed[a].File(); f != nil && f.Type == image.Symlink && m.changed[a] {
			return true
		}
	}
	return false
}

// unseen reports whether this plan replaces a link in a path. Then the observed image of the path does
// not count, because the new directory has no such entry.
func (m *forecast) unseen(p string) bool {
	if m.behindLink(step.Step{Verb: step.Rm, Args: []string{p}}) {
		return true
	}
	if m.in.Goal == nil {
		return false
	}
	for d := range parents(p) {
		to, known := m.in.Goal.FilesBefore[d]
		now := m.in.Observed[addr.File(d)].File()
		if known && to.Type == image.Directory && now != nil && now.Type == image.Symlink {
			return true
		}
	}
	return false
}

// pathNow returns the observed image of a path. It returns an absent image if the path leads through a
// link that this plan replaces.
func (m *forecast) pathNow(p string) *image.Image {
	now := m.in.Observed[addr.File(p)]
	if now.File() == nil || m.unseen(p) {
		now = image.Of(&image.File{Type: image.Absent})
	}
	return &now
}

// removed reports whether a step concerns a part of a file that this plan first removes or replaces by
// an object that cannot be edited. The observed image is then invalid.
func (m *forecast) removed(s step.Step) bool {
	if m.in.Goal != nil || s.Verb != step.Edit && s.Verb != step.Meta {
		return false
	}
	if left, ok := m.leaves[s.Path()]; ok && s.Verb == step.Edit && left != image.Regular {
		return true
	}
	if left, ok := m.leaves[s.Path()]; ok && left == image.Absent {
		return true
	}
	for p := range parents(s.Path()) {
		if m.swept[p] {
			return true
		}
	}
	return false
}
