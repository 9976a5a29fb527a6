package move

import (
	"path"

	"fettle.dev/fettle/internal/image"
)

// Fold stages the content of a new directory inside that directory's temporary, under its final
// name, so that one rename shows a whole new tree. No other user can have written there: a
// temporary directory is private until it gets its metadata. Call Fold before the moves are written
// to the journal. A folded move has no temporary name of its own.
func (b *Batch) Fold() {
	makes := map[string]*Move{}
	for _, m := range b.Moves {
		if m.From.Type != image.Absent {
			continue
		}
		if in := makes[path.Dir(m.Path)]; in != nil && m.To.Type != image.Absent && m.Validate == nil {
			m.in, m.Temp = in, ""
		}
		if m.plainDir() {
			makes[m.Path] = m
		}
	}
}

// plainDir reports whether the move creates an empty directory.
func (m *Move) plainDir() bool {
	return m.To.Type == image.Directory && m.To.Tree == "" && !m.InPlace()
}

// place is where the new thing is staged.
func (m *Move) place() string {
	if m.in != nil {
		return path.Join(m.in.place(), path.Base(m.Path))
	}
	return m.Temp
}

// own yields the moves that are staged and shown separately.
func (b *Batch) own(yield func(*Move) bool) {
	for _, m := range b.Moves {
		if m.in == nil && !yield(m) {
			return
		}
	}
}
