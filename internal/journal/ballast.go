package journal

import (
	"bytes"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/image"
)

// EnsureBallast creates the ballast file unless it exists with its full size. A run calls it before
// it begins; an error means that the disk has no space for undo.
func (s *Store) EnsureBallast() error {
	if s.opts.Ballast <= 0 {
		return nil
	}
	if st, err := s.fs.Lstat("/ballast"); err == nil {
		if st.Type == image.Regular && st.Size >= s.opts.Ballast {
			return nil
		}
		if err := s.fs.Remove("/ballast"); err != nil {
			return err
		}
	}
	if err := s.writeBallast(); err != nil {
		_ = s.fs.Remove("/ballast")
		return fmt.Errorf("cannot reserve %d MiB for undo; free space on the disk of the state directory: %w",
			s.opts.Ballast>>20, err)
	}
	return s.fs.SyncDir("/")
}

// writeBallast fills the file: a hole would hold no room.
func (s *disk) writeBallast() error {
	f, err := s.fs.Create("/ballast")
	if err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("room to take a run back on a full disk\n"), 1<<15)
	for left := s.opts.Ballast; left > 0 && err == nil; left -= int64(len(chunk)) {
		_, err = f.Write(chunk[:min(left, int64(len(chunk)))])
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
