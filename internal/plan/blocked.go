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

// An address that cannot be planned does not block other addresses. It is an error if the list
// requires its change. If it would only be removed or restored, it does not change and stays managed,
// so that a later run can finish it.

// refuse reports a step that cannot be planned.
func (m *maker) refuse(s step.Step, by addr.Addr, err error) {
	err = m.suggested(err)
	if m.in.Goal == nil {
		m.problem(s.Source, s.String(), err)
		return
	}
	c := Change{Addr: s.Addr(), Step: s.String(), Source: s.Source, PurgedBy: by}
	if e, applied := m.now[c.Addr]; applied {
		c.Applied = e.Step
	}
	m.blocked(c, err)
}

// blocked leaves an address unchanged that cannot be restored now, and protects its path from a purge.
// This is an error in a rollback without SkipBlocked, and if the host cannot be read.
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
	c.From, c.To, c.Captured, c.Differences, c.Note = nil, nil, false, nil, ""
	m.hold(c.Addr.Path())
	m.add(c)
}

// blockedWhy begins the reason of a change that is blocked.
const blockedWhy = "it cannot be restored now and is left unchanged: "

// Obstacle returns the reason of a blocked change.
func (c Change) Obstacle() string { return strings.TrimPrefix(c.Why, blockedWhy) }

// NeedsOperator reports whether an operator must remove the obstacle of a blocked change. A package that stays
// only while another needs it, or while an administrator holds it, is not stuck.
func (c Change) NeedsOperator() bool { return c.Action == Blocked && len(c.Needed) == 0 && !c.Held }

// Blocked returns the addresses of the plan that are stuck.
func (p *Plan) Blocked() []addr.Addr {
	var out []addr.Addr
	for _, c := range p.Changes {
		if c.NeedsOperator() {
			out = append(out, c.Addr)
		}
	}
	return out
}

// prevented returns an error for a step that the run cannot execute because of its path. A list must
// declare the directories of its paths. A rollback may leave changed directories as they are.
func (m *maker) prevented(c Change) error {
	if m.in.Goal == nil {
		return m.separates(c)
	}
	return errors.Join(m.separates(c), m.occupied(c))
}

// separates returns an error for a change that would separate a file from its other hard links. Names
// that an earlier change of the plan removes do not count.
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
	return fmt.Errorf("cannot replace %q: the file has %d hard links, and the other names would keep the old content; first remove the other names, or set only its metadata", c.Addr.Path(), names)
}

// unlinked returns how many names of a file remain after earlier changes of this plan.
func (m *maker) unlinked(p string, names uint64) uint64 {
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
