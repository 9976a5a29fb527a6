package plan

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

func (m *forecast) add(c Change) {
	if c.Action.Mutates() {
		m.changed[c.Addr] = true
		if c.To != nil && c.To.File() != nil && c.To.File().Tree != "" {
			m.trees[c.Addr.Path()] = c.To.File().Tree
		}
		if renumbers(c) {
			m.numbers[c.Addr] = true
		}
		if removesLinks(c) {
			m.unlinks = append(m.unlinks, c.Addr.Path())
		}
		m.noteLeft(c)
		m.made[c.Addr.Path()] = m.made[c.Addr.Path()] || makesFile(c)
		if f := m.in.Observed[c.Addr].File(); f != nil && f.Type == image.Symlink {
			m.relinked = true
		}
		k := c.Addr.Kind()
		m.redressed = m.redressed || k == addr.KindMeta
		m.installs = m.installs || k == addr.KindPkg && c.Action != Remove
		m.brings = m.brings || k == addr.KindExec || m.installs
	}
	m.p.Changes = append(m.p.Changes, c)
}

func (m *forecast) addUnlessSame(c Change, same bool) {
	if same {
		m.p.Unchanged++
		return
	}
	m.add(c)
}

// noteLeft records the object that a change leaves at its path.
func (m *forecast) noteLeft(c Change) {
	p, left := c.Addr.Path(), image.Regular
	switch {
	case !isPath(c.Addr):
		m.elsewhere = true
		return
	case m.outlives(c):
		left = image.Directory
	case c.To != nil && c.To.File() != nil:
		left = c.To.File().Type
	case c.To != nil && c.To.Region() != nil && !c.To.Region().Present && c.To.Region().FileAbsent && !m.sharedRegion(p):
		left = image.Absent
	}
	m.leaves[p] = left
	m.swept[p] = left == image.Absent && c.Action != Remove // a removed directory stays if it is not empty
}

// outlives reports whether a directory stays despite its removal, because it contains files of others.
func (m *forecast) outlives(c Change) bool {
	if c.Action != Remove || c.From == nil || !isDirectory(c.From.File()) || c.To.File().Type != image.Absent {
		return false
	}
	return len(m.remaining(c.Addr.Path(), c.From.File().Entries)) > 0
}

// withoutOurs limits the image of a directory to the entries that remain after this plan. So a file can replace a
// directory of fettle.
func (m *forecast) withoutOurs(s step.Step, now image.Image) image.Image {
	if s.Verb == step.Mkdir || !isDirectory(now.File()) {
		return now
	}
	f := *now.File()
	f.Entries = m.remaining(s.Path(), f.Entries)
	return image.Of(&f)
}

// remaining returns the names in a directory after the plan so far, sorted: the present names that it does not
// remove, and the names that it restores. A removed directory that stays for the files of others still counts.
func (m *forecast) remaining(dir string, present []string) []string {
	var out []string
	for _, name := range present {
		if p := path.Join(dir, name); m.remain[p] || !m.changed[addr.File(p)] && !m.going[p] {
			out = append(out, name)
		}
	}
	for p, left := range m.leaves {
		if path.Dir(p) == dir && left != image.Absent {
			out = append(out, path.Base(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// renumbers reports whether a change gives an existing account another number.
func renumbers(c Change) bool {
	switch {
	case c.From == nil || c.To == nil:
		return false
	case c.From.User() != nil && c.To.User() != nil:
		return c.From.User().Present && c.From.User().UID != c.To.User().UID
	case c.From.Group() != nil && c.To.Group() != nil:
		return c.From.Group().Present && c.From.Group().GID != c.To.Group().GID
	}
	return false
}

// makesFile reports whether the change of a region creates its file again.
func makesFile(c Change) bool {
	return c.From != nil && c.From.Region() != nil && c.From.Region().FileAbsent &&
		c.To != nil && c.To.Region() != nil && c.To.Region().Present
}
