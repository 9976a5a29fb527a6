package outside

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// List returns all modules of the repository, in the order of their names.
func (m Modules) List() ([]Module, error) {
	out := []Module{}
	list, err := m.Tree.ReadDir("modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if e.Type == repo.Dir {
			d, err := m.describe(path.Base(e.Path))
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	return out, nil
}

func (m Modules) describe(name string) (Module, error) {
	dir := path.Join("modules", name)
	l, err := source.ReadLock(m.Tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Module{Name: name, State: "own"}, nil
	}
	if err != nil {
		return Module{}, err
	}
	now, err := source.ModuleFiles(m.Tree, dir)
	d := Module{Name: name, Version: l.Version, Source: l.Source, Path: l.Path, Commit: l.Commit, State: "locked",
		Changed: l.Changed(now)}
	if len(d.Changed) > 0 {
		d.State = "changed"
	}
	return d, err
}

// Add copies a module of another repository: from is its URL or path, and the directory of the module
// behind //. version "" is the highest version. An existing module is an error.
func (m Modules) Add(ctx context.Context, name, from, version string) (Module, error) {
	if _, err := m.Tree.Stat(path.Join("modules", name)); err == nil {
		return Module{}, hint.Refuse("Change its version: fettle module update "+name+"\nOr choose another name",
			fmt.Sprintf("cannot add the module %q: modules/%s already exists", name, name))
	}
	l := source.ModuleLock{Source: from}
	scheme := max(0, strings.Index(from, "://")+3)
	if i := strings.Index(from[scheme:], "//"); i >= 0 {
		l.Source, l.Path = from[:scheme+i], path.Clean(from[scheme+i+2:])
	}
	d, err := m.copyVersion(ctx, name, l, version)
	d.State = "added"
	return d, err
}

// CheckModuleName returns an error for a name that no module can have.
func CheckModuleName(name string) error {
	if generator.IsName(name) {
		return nil
	}
	return hint.Refuse("Choose a name such as nginx: fettle module add nginx SOURCE",
		fmt.Sprintf("cannot name a module %q: use letters, digits, _ and -", name))
}

// Update copies another version of the named modules, or of all modules of other repositories. It
// overwrites edited files, and Module.Changed names them.
func (m Modules) Update(ctx context.Context, names []string, version string) (out []Module, err error) {
	all := len(names) == 0
	if all {
		list, _ := m.Tree.ReadDir("modules") // without this directory there are no modules
		for _, e := range list {
			names = append(names, path.Base(e.Path))
		}
	}
	for _, name := range names {
		l, err := source.ReadLock(m.Tree, path.Join("modules", name))
		if errors.Is(err, fs.ErrNotExist) && all {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return out, hint.Refuse("List them: fettle module list",
				fmt.Sprintf("cannot update the module %q: it was not copied from another repository", name))
		}
		if err != nil {
			return out, err
		}
		d, err := m.update(ctx, name, l, version)
		if err != nil {
			return out, err
		}
		out = append(out, d)
	}
	return out, nil
}

func (m Modules) update(ctx context.Context, name string, l source.ModuleLock, version string) (Module, error) {
	was, err := m.describe(name)
	if err != nil {
		return Module{}, err
	}
	d, err := m.copyVersion(ctx, name, l, version)
	if err != nil {
		return Module{}, err
	}
	d.Was, d.State = l.Name(), "updated"
	if d.Commit == l.Commit && len(was.Changed) == 0 {
		d.State = "unchanged"
	}
	d.Changed = was.Changed
	return d, nil
}
