package plan

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// removeExec plans the removal of a command, which runs its undo. If the last version of the command
// has no undo, the undo of the newest version with an undo runs.
func (m *maker) removeExec(c Change, e journal.Entry) {
	c.From = &image.Image{Exec: &image.Exec{Known: true, Done: true}}
	c.To = &image.Image{Exec: &image.Exec{Known: true}}
	switch {
	case parse(e.Step).Get("undo") != "":
	case e.Undo != "":
		c.Applied = e.Undo
		c.Note = "its last version has no undo, so the undo of an earlier version runs"
	default:
		c.Action = Forget
		c.Irreversible = "the command has no undo, so its effects stay"
	}
	m.add(c)
}

// failedThen reports whether a command did not count as done in the goal of a rollback.
func (m *maker) failedThen(a addr.Addr) bool {
	return m.in.Goal != nil && slices.ContainsFunc(m.in.Goal.Entries, func(e journal.Entry) bool { return e.Addr == a && e.Failed })
}
