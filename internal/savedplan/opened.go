package savedplan

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/hint"
)

// Plans are the open plans of a directory, by target.
type Plans struct {
	path  string
	plans map[string]*Plan
}

// OpenAll opens a plan, or all plans of a directory. The caller closes it.
func OpenAll(path string) (*Plans, error) {
	all := &Plans{path: path, plans: map[string]*Plan{}}
	files, err := planFiles(path)
	for _, file := range files {
		if err = all.open(file); err != nil {
			break
		}
	}
	if err != nil {
		all.Close()
		return nil, err
	}
	return all, nil
}

// planFiles are the files of plans at a path, sorted.
func planFiles(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}, nil // which file it names
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		err = errors.New("the directory is empty")
	}
	if err != nil {
		return nil, notSaved(path, err)
	}
	var files []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), savedSuffix) {
			return nil, notSaved(path, fmt.Errorf("it contains %.80q, which is not the plan of a target", e.Name()))
		}
		files = append(files, filepath.Join(path, e.Name()))
	}
	return files, nil
}

// Load is Open with the next command of the user in its error.
func Load(path string) (*Plan, error) {
	p, err := Open(path)
	if err != nil {
		return nil, notSaved(path, err)
	}
	return p, nil
}

func notSaved(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return hint.With(fmt.Errorf("cannot read the saved plan %q: there is no such file", path),
			"Create it: fettle plan -o "+path)
	}
	return hint.With(fmt.Errorf("cannot read the saved plan %q: %w", path, err),
		"Create it again: fettle plan -o "+path)
}

func (a *Plans) open(file string) error {
	p, err := Load(file)
	if err != nil {
		return err
	}
	name := p.Request.Target
	if _, twice := a.plans[name]; twice || name == "" {
		p.Close()
		return notSaved(a.path, fmt.Errorf("%.80q is not the plan of a target, or the second plan of the same target",
			filepath.Base(file)))
	}
	a.plans[name] = p
	return nil
}

// Close closes all plans.
func (a *Plans) Close() {
	for _, p := range a.plans {
		p.Close()
	}
}

// Selection returns the words of -t that select all targets with a plan.
func (a *Plans) Selection() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.plans)) {
		out = append(out, selection.Quote(name))
	}
	return out
}

// Of returns the plan of a target, nil if it has none.
func (a *Plans) Of(target string) *Plan { return a.plans[target] }

// Check returns an error if a target has no plan.
func (a *Plans) Check(names []string) error {
	for _, name := range names {
		if _, ok := a.plans[name]; !ok {
			return hint.Refuse("Create a plan for it: fettle plan -t "+name+" -o FILE\nOr exclude it: -t '…,!"+name+"'",
				fmt.Sprintf("cannot apply %q to %s: there is no plan for it", a.path, name))
		}
	}
	return nil
}
