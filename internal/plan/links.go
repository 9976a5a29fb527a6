package plan

import (
	"fmt"

	"fettle.dev/fettle/internal/image"
)

// separates returns an error for a change that would separate a file from its other hard links. Names
// that an earlier change of the plan removes do not count.
func (m *forecast) separates(c Change) error {
	if c.From == nil || c.To == nil {
		return nil
	}
	var names uint64
	switch from, to := c.From, c.To; {
	case from.File() != nil && to.File() != nil && from.File().Type == image.Regular:
		f, t := from.File(), to.File()
		if t.Type != image.Absent && (t.Type != f.Type || t.Digest != f.Digest || t.Sealed != f.Sealed) {
			names = f.Nlink
		}
	case from.Region() != nil && to.Region() != nil && !from.Same(*to):
		names = from.Region().Nlink
	}
	if names < 2 || names-m.unlinked(c.Addr.Path(), names) < 2 {
		return nil
	}
	return fmt.Errorf("cannot replace %q: the file has %d hard links, and the other names would keep the old content; "+
		"first remove the other names, or set only its metadata", c.Addr.Path(), names)
}

// unlinked returns how many names of a file remain after earlier changes of this plan.
func (m *forecast) unlinked(p string, names uint64) uint64 {
	switch {
	case len(m.unlinks) == 0:
		return 0
	case m.in.Links == nil:
		return names - 1 // only the run can determine this
	}
	return min(m.in.Links(p, m.unlinks), names-1)
}

// removesLinks tells whether a change may remove names of hard links, at its path or in its
// directory. A directory with the action Remove is empty when the run removes it.
func removesLinks(c Change) bool {
	switch {
	case c.Action == Purge, c.To != nil && c.To.File() != nil && c.To.File().Tree != "":
		return true
	case c.From != nil && c.From.Region() != nil && c.To != nil && c.To.Region() != nil:
		return c.From.Region().Nlink > 1 && c.To.Region().FileAbsent
	case c.From == nil || c.From.File() == nil || c.To == nil || c.To.File() == nil:
		return false
	}
	gone := c.To.File().Type == image.Absent
	return gone && (c.From.File().Type == image.Directory && c.Action != Remove || c.From.File().Nlink > 1)
}
