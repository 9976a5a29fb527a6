package plan

import (
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// One address that cannot be planned does not prevent the others. What is wanted
// and cannot be reached is an error. What only goes back is left as it is, and
// stays managed, so that a later run can finish it.

// refuse reports a step that cannot be planned.
func (m *maker) refuse(s step.Step, by addr.Addr, err error) {
	err = m.suggested(err)
	if m.in.Goal == nil {
		m.problem(s.Source, s.String(), err)
		return
	}
	c := Change{Addr: s.Addr(), Step: s.String(), Source: s.Source, By: by}
	if e, applied := m.now[c.Addr]; applied {
		c.Applied = e.Step
	}
	m.blocked(c, err)
}

// blocked leaves an address as it is that cannot go back now, and keeps a purge from
// its path. It is an error in a rollback, and where the machine cannot be read, unless
// blocked addresses may be left out.
func (m *maker) blocked(c Change, err error) {
	if !m.in.SkipBlocked && (m.in.Goal != nil || host.IsFault(err)) {
		line := c.Step
		if line == "" {
			line = c.Applied
		}
		m.problem(c.Source, line, err)
		return
	}
	c.Action, c.Why = Blocked, blockedWhy+err.Error()
	c.From, c.To, c.Found, c.Differences, c.Note = nil, nil, false, nil, ""
	m.hold(c.Addr.Path())
	m.add(c)
}

// blockedWhy begins the reason of a change that is blocked.
const blockedWhy = "it cannot go back now, so it stays as it is: "

// Obstacle says what prevents a change that is blocked.
func (c Change) Obstacle() string { return strings.TrimPrefix(c.Why, blockedWhy) }

// Stuck tells whether the change is blocked by something that an operator must put
// right. A package that stays only as long as something wanted needs it, or as an
// administrator holds it, is not stuck.
func (c Change) Stuck() bool { return c.Action == Blocked && len(c.Needed) == 0 && !c.Held }

// Blocked lists the addresses that a plan leaves as they are, since they cannot go
// back now, and that are stuck.
func (p *Plan) Blocked() []addr.Addr {
	var out []addr.Addr
	for _, c := range p.Changes {
		if c.Stuck() {
			out = append(out, c.Addr)
		}
	}
	return out
}

// prevented is an error for a step that the run cannot perform. A list declares the directories
// of its paths. A rollback may leave them as others changed them.
func (m *maker) prevented(c Change) error {
	if m.in.Goal == nil {
		return m.separates(c)
	}
	return errors.Join(m.separates(c), m.occupied(c))
}

// separates is an error for a change that would part a file from its hard links.
// Names that an earlier change of the plan removes do not count.
func (m *maker) separates(c Change) error {
	if c.From == nil || c.To == nil {
		return nil
	}
	var names uint64
	switch from, to := c.From, c.To; {
	case from.File != nil && to.File != nil && from.File.Type == image.Regular:
		f, t := from.File, to.File
		if t.Type != image.Absent && (t.Type != f.Type || t.Digest != f.Digest || t.Sealed != f.Sealed) {
			names = f.Nlink
		}
	case from.Region != nil && to.Region != nil && !from.Same(*to):
		names = from.Region.Nlink
	}
	if names < 2 || names-m.unlinked(c.Addr.Path(), names) < 2 {
		return nil
	}
	return fmt.Errorf("cannot replace %q: the file has %d hard links, and other names would keep the old content; remove the other names first, or set only its metadata", c.Addr.Path(), names)
}

// unlinked counts the other names of a file that earlier changes of this plan remove.
func (m *maker) unlinked(p string, names uint64) uint64 {
	switch {
	case len(m.unlinks) == 0:
		return 0
	case m.in.Links == nil:
		return names - 1 // only the run can tell
	}
	return min(m.in.Links(p, m.unlinks), names-1)
}

// removesLinks tells whether a change may remove names of hard links, at its path or in its
// directory. A directory with the action Remove is empty when the run removes it.
func removesLinks(c Change) bool {
	switch {
	case c.Action == Purge, c.To != nil && c.To.File != nil && c.To.File.Tree != "":
		return true
	case c.From != nil && c.From.Region != nil && c.To != nil && c.To.Region != nil:
		return c.From.Region.Nlink > 1 && c.To.Region.FileAbsent
	case c.From == nil || c.From.File == nil || c.To == nil || c.To.File == nil:
		return false
	}
	gone := c.To.File.Type == image.Absent
	return gone && (c.From.File.Type == image.Directory && c.Action != Remove || c.From.File.Nlink > 1)
}
