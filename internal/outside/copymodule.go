package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// copyVersion copies a version of a module into the repository, and replaces the version in the lock.
func (m Modules) copyVersion(ctx context.Context, name string, l source.ModuleLock, version string) (Module, error) {
	from := l.Source
	if strings.HasPrefix(from, "./") || strings.HasPrefix(from, "../") {
		from = filepath.Join(m.Directory, from)
	}
	remote, err := repo.OpenRemote(from)
	if err != nil {
		return Module{}, err
	}
	tags, err := remote.Tags(ctx)
	if err != nil {
		return Module{}, err
	}
	rev := chooseVersion(tags, path.Base(cmp.Or(l.Path, name)), version)
	temp, err := os.MkdirTemp("", "fettle-module-*")
	if err != nil {
		return Module{}, fmt.Errorf("cannot fetch a module: %w", err)
	}
	defer os.RemoveAll(temp)
	bare := filepath.Join(temp, "fetched.git")
	if l.Commit, err = remote.Fetch(ctx, rev, bare); err != nil {
		return Module{}, err
	}
	r, err := repo.OpenWith(ctx, bare, m.Limits)
	if err != nil {
		return Module{}, err
	}
	defer r.Close()
	tree, _, err := r.At(ctx, l.Commit)
	if err != nil {
		return Module{}, err
	}
	if l.Path == "" {
		l.Path = "."
		if e, err := tree.Stat(path.Join("modules", name)); err == nil && e.Type == repo.Dir {
			l.Path = path.Join("modules", name)
		}
	}
	l.Version = rev
	err = m.write(tree, name, l)
	return Module{Name: name, Version: l.Version, Source: l.Source, Path: l.Path, Commit: l.Commit}, err
}

// write writes the files of a module, removes its files that no longer exist, and finally writes
// the lock.
func (m Modules) write(tree repo.Tree, name string, l source.ModuleLock) error {
	to := path.Join("modules", name)
	before, err := source.ModuleFiles(m.Tree, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if l.Files, err = source.ModuleFiles(tree, l.Path); err != nil {
		return hint.With(err, "Append the directory to the repository: SOURCE//FOLDER")
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(l.Files)), source.IsSource) {
		return hint.Refuse("Append the directory to the repository: SOURCE//FOLDER",
			fmt.Sprintf("cannot use %q of %s as a module: it contains no configuration file", l.Path, l.Source))
	}
	for _, f := range slices.Sorted(maps.Keys(l.Files)) {
		text, err := tree.ReadFile(path.Join(l.Path, f))
		if err == nil {
			err = writeFile(m.Directory, path.Join(to, f), text, modeOf(l.Files[f]))
		}
		if err != nil {
			return err
		}
	}
	for f := range before {
		if l.Files[f] == "" {
			if err := removeFile(m.Directory, path.Join(to, f)); err != nil {
				return err
			}
		}
	}
	if err := m.writeRecords(tree, to, l.Path); err != nil {
		return err
	}
	lock, err := l.Bytes()
	if err != nil {
		return err
	}
	return writeFile(m.Directory, path.Join(to, source.LockName), lock, plainFile)
}

// modeOf returns the mode of a file that a lock describes.
func modeOf(entry string) fs.FileMode {
	if strings.HasSuffix(entry, " x") {
		return program
	}
	return plainFile
}

// writeRecords copies the output of generators, and the answers to lookups unless the repository has
// an answer of its own.
func (m Modules) writeRecords(tree repo.Tree, to, from string) error {
	for _, dir := range []string{"generated", "lookups"} {
		list, err := tree.ReadDir(path.Join(from, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range list {
			name := path.Join(to, dir, path.Base(e.Path))
			if _, err := m.Tree.Stat(name); e.Type != repo.File || dir == "lookups" && err == nil {
				continue
			}
			text, err := tree.ReadFile(path.Join(from, dir, path.Base(e.Path)))
			if err == nil {
				err = writeFile(m.Directory, name, text, plainFile)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Module is a module of a repository, with the result of the last operation on it.
type Module struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"` // "" for a module without a version
	Source  string   `json:"source,omitempty"`  // "" for the repository's own
	Path    string   `json:"path,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	State   string   `json:"state"`             // own, locked, changed, added, updated or unchanged
	Was     string   `json:"was,omitempty"`     // the version before
	Changed []string `json:"changed,omitempty"` // files
}

// Modules copies modules of other repositories into a repository. It runs the git of the user.
type Modules struct {
	Directory string      // of the repository, where the files are written
	Tree      repo.Tree   // of the same files
	Limits    repo.Limits // of the other repositories
}
