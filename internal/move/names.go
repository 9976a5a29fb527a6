package move

import (
	"path"

	"fettle.dev/fettle/internal/image"
)

// pair finds the moves that restore a further name of a file which an earlier move of the batch makes.
func (b *Batch) pair() {
	first := map[string]*Move{}
	for _, m := range b.Moves {
		if m.Inode == "" || m.Name != "" || m.To.Type != image.Regular {
			continue
		}
		if f := first[m.Inode]; f == nil {
			first[m.Inode] = m
		} else if f.To.Same(m.To) && f.To.MTime == m.To.MTime {
			m.twin = f
		}
	}
}

// stageNames stages the further names of files when the files are staged. On another file system, or
// where the kernel refuses a link, the path becomes a file of its own.
func (b *Batch) stageNames() error {
	for _, m := range b.Moves {
		if m.twin == nil {
			continue
		}
		if err := b.stageName(m); err != nil {
			return &Error{m.Change, m.Path, "write", err}
		}
	}
	return nil
}

func (b *Batch) stageName(m *Move) error {
	if m.in == nil {
		if err := b.open(path.Dir(m.Path)); err != nil {
			return err
		}
	}
	if b.FS.Link(m.twin.place(), m.place()) == nil {
		return nil
	}
	return b.stage(m)
}
