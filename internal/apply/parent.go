package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/step"
)

// noPlace is the error of a change whose directory is not there. It keeps the cause
// for callers and says what to do instead of which temporary file was missing.
type noPlace struct {
	text string
	err  error
}

func (e *noPlace) Error() string { return e.text }
func (e *noPlace) Unwrap() error { return e.err }

// placed explains why a change could not be staged, where the reason is that no
// directory is there to stage it in. Any other error comes back as it is.
func (r *run) placed(i int, err error) error {
	p := r.m.Step(i).Path()
	if !unreached(err) || p == "" {
		return err
	}
	missing := r.missing(path.Dir(p))
	if missing == "" {
		return err
	}
	what := fmt.Sprintf("Declare it before: directory %q {}", path.Dir(p))
	if pkg := step.Ships(missing); pkg != "" {
		what = fmt.Sprintf("The package %s provides it. Declare it before: package %q {}", pkg, pkg)
	}
	return &noPlace{fmt.Sprintf("cannot write %q: the directory %q does not exist. %s", p, missing, what), err}
}

// missing is the first directory on the way to dir that does not exist, "" when all
// of them do or nobody can tell.
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
