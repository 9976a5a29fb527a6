package savedplan

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/plan"
)

// savedSuffix ends the names of the files in a directory of plans.
const savedSuffix = ".plan"

// Directory is a new directory for the plans of many targets, with one saved plan for each target. It appears
// whole at its path or not at all.
type Directory struct {
	path, temp, version string

	mu    sync.Mutex
	saved int
}

// NewDirectory begins a directory at a path that does not exist. version is the version of this fettle. The
// caller calls Drop at the end.
func NewDirectory(path, version string) (*Directory, error) {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil, hint.Refuse("Name a directory that does not exist yet: -o DIR",
			fmt.Sprintf("cannot save the plans of many targets to %q: it exists", path))
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".fettle-plans-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("cannot save the plans: %w", err)
	}
	return &Directory{path: path, temp: temp, version: version}, nil
}

// Save adds the plan of one target. far means that the target is another machine. Several goroutines can call it
// at the same time.
func (d *Directory) Save(far bool, req executor.Request, p *plan.Plan) error {
	if err := Savable(p); err != nil {
		return err
	}
	if err := Write(filepath.Join(d.temp, url.PathEscape(req.Target)+savedSuffix),
		Origin{Version: d.version, Far: far}, req, p); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved++
	return nil
}

// Keep renames the directory to its path, which it returns with the number of plans. Without a plan, there is no
// directory.
func (d *Directory) Keep() (path string, saved int, err error) {
	if d.saved == 0 {
		return d.path, 0, os.Remove(d.temp)
	}
	if err := os.Rename(d.temp, d.path); err != nil {
		return d.path, 0, fmt.Errorf("cannot save the plans: %w", err)
	}
	return d.path, d.saved, nil
}

// Drop removes a directory that was not kept.
func (d *Directory) Drop() { _ = os.RemoveAll(d.temp) }

// Savable returns an error for a plan whose effect is not known yet.
func Savable(p *plan.Plan) error {
	for _, l := range p.Later {
		if l.Action != "" {
			continue
		}
		what := l.State
		if what == "" {
			what = "a later phase"
		}
		return hint.Refuse("Apply it without a saved plan: fettle apply\n"+
			"Or save the plan of the rest afterwards: fettle apply, then fettle plan -o FILE",
			fmt.Sprintf("cannot save the plan: the changes of %s are known only after apply (%s), so they cannot be reviewed",
				what, l.Why))
	}
	return nil
}
