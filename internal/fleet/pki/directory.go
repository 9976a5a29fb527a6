package pki

import (
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// maxFile is the maximum size of a file in the directory, in bytes.
const maxFile = 1 << 20

// Directory stores keys. Its mode is 0700, and the mode of its files is 0600. Only one process may
// write it at a time.
type Directory struct {
	FS  host.FS
	Dir string // absolute
}

// make creates the directory and its parents.
func (f Directory) make() error { return smallfile.Directory(f.FS, f.Dir) }

// read returns the content of a file. fs.ErrNotExist is in the chain of the error if it does not
// exist. A file that other users can read is refused, since they may have its key.
func (f Directory) read(name string) ([]byte, error) {
	path := host.JoinPath(f.Dir, name)
	file, err := f.FS.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the mode of %s: %w", path, err)
	}
	if st.Mode&0o077 != 0 {
		return nil, fmt.Errorf("cannot use %s: other users can read or write it (mode %04o). If no other user has read it, set its mode with chmod 600",
			path, st.Mode)
	}
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return b, nil
}

// write replaces a file atomically and durably: after a crash it has the old or the new content. If
// fresh is true and the file exists, it stays unchanged, and fs.ErrExist is in the chain of the
// error.
func (f Directory) write(name string, content []byte, fresh bool) error {
	if err := f.make(); err != nil {
		return err
	}
	path := host.JoinPath(f.Dir, name)
	if fresh {
		return smallfile.Make(f.FS, path, content)
	}
	return smallfile.Write(f.FS, path, content)
}

// remove removes a file; a missing file is not an error.
func (f Directory) remove(name string) error {
	return smallfile.Remove(f.FS, host.JoinPath(f.Dir, name))
}
