package step

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
)

// Source is the directory of a list, for reading includes and digesting content. Paths are relative
// to that directory, with '/', clean, and never lead out of it by their text. Implementations of
// Source are responsible for symbolic links.
type Source interface {
	// ReadFile reads a whole list file.
	ReadFile(path string) ([]byte, error)
	// Digest returns the digest of a regular file's content, "sha256:" and 64 hex digits, and its
	// size in bytes. It is called once for each path.
	Digest(path string) (digest string, size int64, err error)
}

// Directory is a Source on a file system, for example of an os.Root, which lets no symbolic link lead
// out.
type Directory struct{ FS fs.FS }

// ReadFile reads a regular file of at most MaxFile bytes.
func (f Directory) ReadFile(path string) ([]byte, error) {
	file, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// One byte more than is allowed, so that Parse refuses it with its reason.
	return io.ReadAll(io.LimitReader(file, MaxFile+1))
}

// Digest reads a regular file from beginning to end and keeps nothing of it.
func (f Directory) Digest(path string) (string, int64, error) {
	file, err := f.open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, file)
	if err != nil {
		return "", 0, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, nil
}

// open refuses files that are not regular before it opens them, because opening a pipe would block
// permanently.
func (f Directory) open(path string) (fs.File, error) {
	st, err := fs.Stat(f.FS, path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot read %s: it is not a regular file", path)
	}
	return f.FS.Open(path)
}
