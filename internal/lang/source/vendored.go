package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/semver"
)

// LockName is the file in a module's directory that names its origin, if the module is vendored.
const LockName = "module.lock"

const lockFormat = "fettle.module/1"

// ModuleLock is the origin of a vendored module, and its content at that time.
type ModuleLock struct {
	Format  string `json:"format"`            // fettle.module/1
	Source  string `json:"source"`            // the git repository
	Path    string `json:"path"`              // the directory in the repository
	Version string `json:"version,omitempty"` // the tag or branch; "" if the default branch was used
	Commit  string `json:"commit"`
	// Files are all files with their digests, followed by " x" for executable files.
	Files map[string]string `json:"files"`
}

// Bytes returns the content of the lock file.
func (l ModuleLock) Bytes() ([]byte, error) {
	l.Format = lockFormat
	b, err := json.MarshalIndent(l, "", "  ")
	return append(b, '\n'), err
}

// Name returns the version, or the beginning of the commit, for users.
func (l ModuleLock) Name() string {
	if l.Version != "" {
		return l.Version
	}
	return l.Commit[:min(12, len(l.Commit))]
}

// ReadLock reads the lock of the module in a directory of a tree. For a module without a lock,
// which belongs to the repository itself, the error is fs.ErrNotExist.
func ReadLock(t repo.Tree, dir string) (ModuleLock, error) {
	var l ModuleLock
	src, err := t.ReadFile(path.Join(dir, LockName))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(src, &l); err != nil || l.Format != lockFormat || l.Commit == "" {
		return l, fmt.Errorf("cannot read %s: it is not a module lock, or a different version of fettle wrote it",
			path.Join(dir, LockName))
	}
	return l, nil
}

// ModuleFiles returns the files of a module as its lock names them. The recorded data of this
// repository, lookups/ and generated/, is not part of the module. A link is an error, because it
// would have a different target in another repository.
func ModuleFiles(t repo.Tree, dir string) (map[string]string, error) {
	out := map[string]string{}
	return out, moduleFiles(t, dir, "", out)
}

func moduleFiles(t repo.Tree, dir, below string, out map[string]string) error {
	list, err := t.ReadDir(path.Join(dir, below))
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(below, path.Base(e.Path))
		if name == LockName || name == "lookups" || name == "generated" || name == ".git" {
			continue
		}
		switch e.Type {
		case repo.Dir:
			err = moduleFiles(t, dir, name, out)
		case repo.File:
			var digest string
			if digest, _, err = t.Digest(path.Join(dir, name)); e.Exec {
				digest += " x"
			}
			out[name] = digest
		default:
			err = fmt.Errorf("cannot copy %s: it is a symbolic link, and modules cannot contain links", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Changed returns the files that differ from the lock, sorted.
func (l ModuleLock) Changed(now map[string]string) []string {
	differs := map[string]bool{}
	for name, digest := range now {
		if l.Files[name] != digest {
			differs[name] = true
		}
	}
	for name := range l.Files {
		if now[name] == "" {
			differs[name] = true
		}
	}
	return syntax.SortedNames(differs)
}

// vendored checks a vendored module against its lock. Its tag is its version, if it declares none.
func (p *Program) vendored(dir string, b *Body) diag.List {
	l, err := ReadLock(p.Tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at := diag.Range{File: path.Join(dir, LockName)}
	p.Record.used[at.File] = true
	if err != nil {
		return diag.List{diag.Errorf(at, "Bad module lock", "%s", syntax.Sentence(err))}
	}
	if b.Version == "" {
		b.Version, b.VersionRange = semver.FromTag(l.Version), at
	}
	now, err := ModuleFiles(p.Tree, dir)
	if err != nil {
		return diag.List{diag.Errorf(at, "Bad module", "%s", syntax.Sentence(err))}
	}
	changed := l.Changed(now)
	if len(changed) == 0 {
		return nil
	}
	more := ""
	if n := len(changed); n > 3 {
		more, changed = fmt.Sprintf(" and %d more", n-3), changed[:3]
	}
	name := path.Base(dir)
	return diag.List{diag.Errorf(at, "Module was changed",
		"The lock names the module %s, version %s of %s, but these files differ: %s%s. To undo the changes, run: "+
			"fettle module update %s --version %s — or, to keep them, remove %s.",
		name, l.Name(), l.Source, strings.Join(changed, ", "), more, name, l.Name(), at.File)}
}
