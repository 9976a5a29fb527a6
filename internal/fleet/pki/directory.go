package pki

import (
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// maxFile bounds what is read of a directory of keys, in bytes.
const maxFile = 1 << 20

// Directory is where keys lie: 0700, with files of 0600. One process writes it at a time.
type Directory struct {
	FS  host.FS
	Dir string // absolute
}

// make makes the directory and those above it.
func (f Directory) make() error { return smallfile.Directory(f.FS, f.Dir) }

// read gives a file of the directory, fs.ErrNotExist in the chain where there is none. A
// file that others may read is refused: whoever read it has the key.
func (f Directory) read(name string) ([]byte, error) {
	path := host.JoinPath(f.Dir, name)
	file, err := f.FS.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", path, err)
	}
	if st.Mode&0o077 != 0 {
		return nil, fmt.Errorf("cannot use %s: others may read or write it (mode %04o). If nobody did, take that back with chmod 600", path, st.Mode)
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

// write replaces a file whole: after a crash at any point it has the old or the new
// content. It is durable when write returns. With fresh a file that is there is left,
// and fs.ErrExist is in the chain of the error.
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

// remove forgets a file; one that is not there is no error.
func (f Directory) remove(name string) error {
	return smallfile.Remove(f.FS, host.JoinPath(f.Dir, name))
}
