package pki

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/host"
)

// maxFile bounds what is read of a folder of keys, in bytes.
const maxFile = 1 << 20

// Folder is where keys lie: 0700, with files of 0600. One process writes it at a time.
type Folder struct {
	FS  host.FS
	Dir string // absolute
}

// make makes the folder and those above it.
func (f Folder) make() error {
	var missing []string
	for dir := f.Dir; ; {
		there, err := host.Exists(f.FS, dir)
		if err != nil {
			return fmt.Errorf("cannot look for %s: %w", dir, err)
		}
		above, _ := host.SplitPath(dir)
		if there || above == dir {
			break
		}
		missing = append(missing, dir)
		dir = above
	}
	for i := len(missing) - 1; i >= 0; i-- {
		above, _ := host.SplitPath(missing[i])
		if err := errors.Join(f.FS.Mkdir(missing[i], 0o700), f.FS.SyncDir(above)); err != nil {
			return fmt.Errorf("cannot make the folder %s: %w", missing[i], err)
		}
	}
	return nil
}

// read gives a file of the folder, fs.ErrNotExist in the chain where there is none. A
// file that others may read is refused: whoever read it has the key.
func (f Folder) read(name string) ([]byte, error) {
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
func (f Folder) write(name string, content []byte, fresh bool) error {
	if err := f.make(); err != nil {
		return err
	}
	path := host.JoinPath(f.Dir, name)
	temp := path + ".new"
	if err := f.FS.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s, which a crash left: %w", temp, err)
	}
	if err := f.fill(temp, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", temp, err)
	}
	rename := f.FS.Rename
	if fresh {
		rename = f.FS.RenameNew
	}
	if err := rename(temp, path); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, errors.Join(err, f.FS.Remove(temp)))
	}
	if err := f.FS.SyncDir(f.Dir); err != nil {
		return fmt.Errorf("cannot make %s durable: %w", path, err)
	}
	return nil
}

func (f Folder) fill(path string, content []byte) error {
	file, err := f.FS.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// remove forgets a file; one that is not there is no error.
func (f Folder) remove(name string) error {
	err := f.FS.Remove(host.JoinPath(f.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.FS.SyncDir(f.Dir)
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", host.JoinPath(f.Dir, name), err)
	}
	return nil
}
