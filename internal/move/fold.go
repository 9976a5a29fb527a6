package move

import (
	"path"

	"fettle.dev/fettle/internal/image"
)

// Fold has what goes into a directory that the batch makes staged inside that
// directory's temporary, under its final name, so that one rename shows a whole
// new tree. Nobody can have put anything there: until it is dressed, a
// temporary directory is only ours. Call it before the moves are written to the
// journal; a folded move has no temporary of its own.
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

// plainDir tells whether the move makes a directory that has nothing in it by
// itself.
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

// own gives the moves that are staged and shown by themselves.
func (b *Batch) own(yield func(*Move) bool) {
	for _, m := range b.Moves {
		if m.in == nil && !yield(m) {
			return
		}
	}
}
