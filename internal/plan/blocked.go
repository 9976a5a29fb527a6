package plan

import (
	"path"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// An address that cannot be planned does not block other addresses. It is an error if the list
// requires its change. If it would only be removed or restored, it does not change and stays managed,
// so that a later run can finish it.

// refuse reports a step that cannot be planned.
func (m *refusals) refuse(s step.Step, by addr.Addr, err error) {
	err = m.providers.suggested(err)
	if m.in.Goal == nil {
		m.problem(s.Source, s.String(), err)
		return
	}
	c := Change{Addr: s.Addr(), Step: s.Stored(), Source: s.Source, PurgedBy: by}
	if e, applied := m.now[c.Addr]; applied {
		c.Applied = e.Step
	}
	m.blocked(c, err)
}

// blocked leaves an address unchanged that cannot be restored now, and protects its path from a purge.
// This is an error in a rollback without SkipBlocked, and if the host cannot be read.
func (m *refusals) blocked(c Change, err error) {
	if !m.in.SkipBlocked && (m.in.Goal != nil || host.IsFault(err)) {
		m.problem(c.Source, c.StepOrApplied().String(), err)
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

// NeedsOperator reports whether an operator must remove the obstacle of a blocked change. This is not
// the case for a package that another package still needs, or that an administrator holds.
func (c Change) NeedsOperator() bool { return c.Action == Blocked && len(c.Needed) == 0 && !c.Held }

// NeedingOperator returns the addresses of blocked changes whose obstacle an operator must remove.
func (p *Plan) NeedingOperator() []addr.Addr {
	var out []addr.Addr
	for _, c := range p.Changes {
		if c.NeedsOperator() {
			out = append(out, c.Addr)
		}
	}
	return out
}

// protect records every path of the list with its parents; a purge must keep these.
func (m *refusals) protect() {
	for _, s := range m.in.Desired {
		if s.Verb == step.Rm {
			continue
		}
		m.hold(s.Path())
	}
	for _, p := range m.in.Unreached {
		m.hold(p)
	}
	if m.in.Goal == nil {
		return
	}
	for p, f := range m.in.Goal.FilesBefore {
		if f.Type != image.Absent {
			m.hold(p)
		}
	}
}

// hold protects a path and its parents from a purge.
func (m *refusals) hold(p string) {
	for ; p != "" && p != "/" && p != "." && !m.paths[p]; p = path.Dir(p) {
		m.paths[p] = true
	}
}

func (m *refusals) problem(source, text string, err error) {
	m.problems = append(m.problems, diag.Diagnostic{
		Summary: "This step cannot be planned", Detail: err.Error(), Range: sourceRange(source), Line: text})
}
