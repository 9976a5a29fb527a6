package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/hint"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// ErrNoRepository means that there is no repository in a directory or above.
var ErrNoRepository = errors.New("there is no repository")

// noRepositoryError is ErrNoRepository with a message about the missing files.
type noRepositoryError struct{ error }

func (n *noRepositoryError) Is(target error) bool { return target == ErrNoRepository }

// NoMain returns ErrNoRepository for a directory without a main file.
func NoMain(dir string) error {
	err := fmt.Errorf("cannot find a repository: there is no %s in %q or above",
		strings.Join(langsource.MainFiles(), ", "), dir)
	return hint.With(&noRepositoryError{err},
		"Name the directory of the repository with -C DIR, or create one: fettle init DIR")
}

// HasMain reports whether a directory is a repository of fettle: it has a main file in one of the forms of
// the language.
func HasMain(dir string, exists func(string) bool) bool {
	return slices.ContainsFunc(langsource.MainFiles(), func(name string) bool { return exists(path.Join(dir, name)) })
}

// findMain returns the first directory with a main file, from dir upwards.
func findMain(t repo.Tree, dir string) (string, error) {
	for {
		if HasMain(dir, func(p string) bool { _, err := t.Stat(p); return err == nil }) {
			return dir, nil
		}
		if dir == "." {
			return "", fs.ErrNotExist
		}
		dir = path.Dir(dir)
	}
}
