package plan

import (
	"maps"
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// WithEarlierMetadata returns the present image of a path with the earlier metadata that META can set. Other
// metadata, such as capabilities, belongs to the content and does not change.
func WithEarlierMetadata(now, then image.Image) image.Image {
	if now.File == nil || then.File == nil || now.File.Type != then.File.Type {
		return now
	}
	f := *now.File
	f.UID, f.GID, f.Mode, f.Attrs = then.File.UID, then.File.GID, then.File.Mode, then.File.Attrs
	f.Xattrs = maps.Clone(f.Xattrs)
	delete(f.Xattrs, accessACL)
	if acl, ok := then.File.Xattrs[accessACL]; ok {
		if f.Xattrs == nil {
			f.Xattrs = map[string][]byte{}
		}
		f.Xattrs[accessACL] = acl
	}
	return image.Image{File: &f}
}

// accessACL is the extended attribute in which the kernel presents an access ACL.
const accessACL = "system.posix_acl_access"

// exact returns the exact image of the goal of a rollback, also if the step does not ask for it. This
// applies to regions and metadata.
func (m *maker) exact(s step.Step, now, to image.Image) image.Image {
	before := m.then(s.Addr())
	switch {
	case before == nil, to.Package != nil && to.Package.Purged:
		return to
	case s.Verb == step.Meta && now.File != nil && before.File != nil && now.File.Type == before.File.Type:
		return WithEarlierMetadata(now, *before)
	case s.Verb == step.Meta:
		return to
	case s.Verb == step.Edit && before.Region != nil && len(before.Region.Encrypted) == 0:
		return *before
	}
	if t, err := m.in.Rules.Target(s, *before); err == nil && t.Same(*before) {
		return *before
	}
	return to
}

// then returns the image of an address in the goal of a rollback, or nil if it is unknown.
func (m *maker) then(a addr.Addr) *image.Image {
	if m.in.Goal == nil {
		return nil
	}
	if before, ok := m.in.Goal.ImagesBefore[a]; ok {
		return &before
	}
	return nil
}

// madeFile reports whether an edit was, in the goal of a rollback, a part of a file that fettle had
// created. A later run removed the file with its last part. The rollback creates the file again, also
// if the step of the goal has no create=true.
func (m *maker) madeFile(a addr.Addr, then image.Image) bool {
	if then.Region == nil || !then.Region.Present {
		return false
	}
	return slices.ContainsFunc(m.in.Goal.Entries, func(e journal.Entry) bool {
		return e.Addr == a && e.Origin != nil && e.Origin.Region != nil && e.Origin.Region.FileAbsent
	})
}

// underneath reports whether the file of a step changes before the step, or is restored with a tree.
// The observed image is then invalid.
func (m *maker) underneath(s step.Step) bool {
	p := s.Path()
	if (s.Verb == step.Edit || s.Verb == step.Meta) && m.changed[addr.File(p)] || m.redressed && s.Addr().Kind() == addr.KindFile && m.changed[addr.New(addr.KindMeta, p)] {
		return true
	}
	if _, edited := m.leaves[p]; edited && s.Addr().Kind() == addr.KindFile && !m.changed[s.Addr()] {
		return true // a region that left the list is restored first
	}
	for len(m.trees) > 0 && p != "" && p != "/" && p != "." {
		if p = path.Dir(p); m.trees[p] != "" {
			return true
		}
	}
	return false
}

// renumbered reports whether an account in the step gets another number before the step.
func (m *maker) renumbered(s step.Step) bool {
	if len(m.numbers) == 0 {
		return false
	}
	_, acl := s.Lookup("acl")
	return acl || m.numbers[addr.New(addr.KindUser, s.Get("owner"))] || m.numbers[addr.New(addr.KindGroup, s.Get("group"))]
}

// renumbers reports whether a change gives an existing account another number.
func renumbers(c Change) bool {
	switch {
	case c.From == nil || c.To == nil:
		return false
	case c.From.User != nil && c.To.User != nil:
		return c.From.User.Present && c.From.User.UID != c.To.User.UID
	case c.From.Group != nil && c.To.Group != nil:
		return c.From.Group.Present && c.From.Group.GID != c.To.Group.GID
	}
	return false
}

// withoutOurs removes from the image of a directory the entries that this plan removes, so that a file
// can replace a directory of fettle. A removed directory that stays for the files of others still
// counts.
func (m *maker) withoutOurs(s step.Step, now image.Image) image.Image {
	if s.Verb == step.Mkdir || now.File == nil || len(now.File.Entries) == 0 {
		return now
	}
	f := *now.File
	f.Entries = nil
	for _, name := range now.File.Entries {
		if p := path.Join(s.Path(), name); m.remain[p] || !m.changed[addr.File(p)] && !m.going[p] {
			f.Entries = append(f.Entries, name)
		}
	}
	return image.Image{File: &f}
}

// withoutOurLink treats a path as absent if it is a link exactly as fettle created it, so that a
// directory can replace it. A link of others stays in the way.
func (m *maker) withoutOurLink(s step.Step, now image.Image, e journal.Entry) image.Image {
	if s.Verb != step.Mkdir || now.File == nil || now.File.Type != image.Symlink {
		return now
	}
	if e.Origin == nil {
		return now
	}
	if old := parse(e.Step); old.Verb != step.Link || m.drifted(e, now) {
		return now
	}
	return image.Image{File: &image.File{Type: image.Absent}}
}

// behindLink reports whether the path of a step leads through a link that this plan replaces. The
// observed file is then another file.
func (m *maker) behindLink(s step.Step) bool {
	p := s.Path()
	if p == "" || !m.relinked {
		return false
	}
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		if f := m.in.Observed[a].File; f != nil && f.Type == image.Symlink && m.changed[a] {
			return true
		}
	}
	return false
}

// notThere returns the image that the step of a path finds if the path is absent.
func notThere(s step.Step) image.Image {
	if s.Verb == step.Edit {
		return image.Image{Region: &image.Region{FileAbsent: true}}
	}
	return image.Image{File: &image.File{Type: image.Absent}}
}
