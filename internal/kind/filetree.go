package kind

import (
	"errors"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// fileTree is content in a directory or an archive, outside of a repository: blobs of a saved plan,
// sources of a step file.
type fileTree struct{ fs fs.FS }

// FileTree is the tree of a directory or an archive. It serves regular files only.
func FileTree(files fs.FS) repo.Tree { return fileTree{files} }

var errFilesOnly = errors.New("only files are read here")

// Open opens a regular file.
func (t fileTree) Open(path string) (io.ReadCloser, error) { return t.fs.Open(path) }

// ReadFile reads a whole file.
func (t fileTree) ReadFile(path string) ([]byte, error) { return fs.ReadFile(t.fs, path) }

// Stat describes one file.
func (t fileTree) Stat(path string) (repo.Entry, error) {
	st, err := fs.Stat(t.fs, path)
	if err != nil {
		return repo.Entry{}, err
	}
	return repo.Entry{Path: path, Size: st.Size(), Exec: st.Mode()&0o111 != 0}, nil
}

// ReadDir fails.
func (t fileTree) ReadDir(string) ([]repo.Entry, error) { return nil, errFilesOnly }

// Readlink fails.
func (t fileTree) Readlink(string) (string, error) { return "", errFilesOnly }

// Digest reads a file to its end.
func (t fileTree) Digest(path string) (string, int64, error) {
	return step.Directory{FS: t.fs}.Digest(path)
}
