// Package smallfile reads and writes small files in memory: settings, keys, certificates, the state
// of an agent.
//
//	err := smallfile.Write(files, "/var/lib/fettle/agent/kept.json", text)
//	text, err := smallfile.Read(files, "/var/lib/fettle/agent/kept.json")
//
// After a crash at any point, a file has its old or its new content.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/host"
)

// Max is the maximum size of a file, in bytes.
const Max = 16 << 20

// Read returns the content of a file. fs.ErrNotExist is in the chain of the error if it does not
// exist.
func Read(files host.FS, path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(io.LimitReader(file, Max+1))
	if err == nil && len(b) > Max {
		err = fmt.Errorf("it has more than %d bytes", Max)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return b, nil
}

// Write replaces a file atomically and durably. The directory must exist. A file must have only one
// writer at a time.
func Write(files host.FS, path string, content []byte) error {
	return write(files, path, content, files.Rename)
}

// Make is Write for a new file. If the file exists, it stays unchanged, and fs.ErrExist is in the
// chain of the error.
func Make(files host.FS, path string, content []byte) error {
	return write(files, path, content, files.RenameNew)
}

func write(files host.FS, path string, content []byte, rename func(from, to string) error) error {
	temp := path + ".new"
	if err := files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s, which a crash left: %w", temp, err)
	}
	if err := fill(files, temp, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", temp, err)
	}
	if err := rename(temp, path); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, errors.Join(err, files.Remove(temp)))
	}
	return durable(files, path)
}

func fill(files host.FS, path string, content []byte) error {
	file, err := files.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func durable(files host.FS, path string) error {
	dir, _ := host.SplitPath(path)
	if err := files.SyncDir(dir); err != nil {
		return fmt.Errorf("cannot make %s durable: %w", path, err)
	}
	return nil
}

// Remove removes a file; a missing file is not an error.
func Remove(files host.FS, path string) error {
	err := files.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", path, err)
	}
	return durable(files, path)
}

// Directory creates a directory with mode 0700, and its parents. An existing directory stays
// unchanged.
func Directory(files host.FS, dir string) error {
	there, err := host.Exists(files, dir)
	if err != nil || there {
		return err
	}
	if up, _ := host.SplitPath(dir); up != dir {
		if err := Directory(files, up); err != nil {
			return err
		}
	}
	if err := files.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the directory %s: %w", dir, err)
	}
	return durable(files, dir)
}
