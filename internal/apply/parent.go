package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/step"
)

// noPlace is the error of a change whose parent directory does not exist. It contains the cause for
// callers, and its text has the remedy instead of the name of a temporary file.
type noPlace struct {
	text string
	err  error
}

func (e *noPlace) Error() string { return e.text }
func (e *noPlace) Unwrap() error { return e.err }

// placed adds a remedy to the error of a change that could not be staged because its directory does
// not exist. It returns other errors unchanged.
func (r *run) placed(i int, err error) error {
	p := r.m.Step(i).Path()
	if !unreached(err) || p == "" {
		return err
	}
	missing := r.missing(path.Dir(p))
	if missing == "" {
		return err
	}
	what := fmt.Sprintf("Declare it first: directory %q {}", path.Dir(p))
	if pkg := step.Ships(missing); pkg != "" {
		what = fmt.Sprintf("The package %s provides it. Declare it first: package %q {}", pkg, pkg)
	}
	return &noPlace{fmt.Sprintf("cannot write %q: the directory %q does not exist. %s", p, missing, what), err}
}

// missing returns the first directory on the path dir that does not exist, or "" if all exist or this
// is unknown.
func (r *run) missing(dir string) string {
	first := ""
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if _, err := r.Host.Lstat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		first = dir
	}
	return first
}
