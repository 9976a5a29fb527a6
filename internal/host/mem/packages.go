package mem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Release is one version of a package in the repository.
type Release struct {
	Name, Version string
	Depends       []string          // NAME, or NAME (= VERSION)
	Recommends    []string          // NAME; never installed for it, but kept
	Conflicts     []string          // NAME
	Files         map[string]string // path to content; directories are made as needed
	Conffiles     []string          // Files that remain after a removal
	// Data are files that its scripts create at installation if they are missing. A removal leaves
	// them. A purge deletes their directories.
	Data map[string]string
}

// leaves reports whether dpkg keeps a record of the package after its removal.
func (r Release) leaves() bool { return len(r.Conffiles)+len(r.Data) > 0 }

// Packages simulates apt and dpkg. The candidate is the release published last. As with dpkg, a
// transaction unpacks all packages before it configures them, and an interruption leaves packages
// half done. Unlike apt it changes only named packages, missing dependencies and conflicting
// packages.
type Packages struct {
	fs *FS
	op host.OperationHook

	mu       sync.Mutex
	releases []Release
	state    map[string]image.Package
	torn     map[string]string // versions of half-unpacked packages
	broken   string
	fail     error
}

var _ host.Packages = (*Packages)(nil)

func newPackages() *Packages {
	return &Packages{state: map[string]image.Package{}, torn: map[string]string{}}
}

func (p *Packages) clone() *Packages {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Packages{releases: slices.Clone(p.releases), state: maps.Clone(p.state), torn: maps.Clone(p.torn),
		broken: p.broken, fail: p.fail}
}

// Publish puts a release into the repository; it becomes the candidate.
func (p *Packages) Publish(r Release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releases = append(p.releases, r)
}

// Withdraw takes a release out of the repository; installed it stays.
func (p *Packages) Withdraw(name, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releases = slices.DeleteFunc(p.releases, func(r Release) bool { return r.Name == name && r.Version == version })
}

// Break makes Audit return text, until Repair; "" clears the error.
func (p *Packages) Break(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = text
}

// Fail makes every Change fail before it does anything, until Fail(nil).
func (p *Packages) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// Installed implements host.Packages.
func (p *Packages) Installed(_ context.Context, names []string) (map[string]image.Package, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]image.Package{}
	for _, name := range names {
		out[name] = p.state[name]
	}
	return out, nil
}

// Simulate implements host.Packages.
func (p *Packages) Simulate(_ context.Context, changes []host.PackageChange) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, err := p.solve(changes)
	if err != nil {
		return nil, err
	}
	return p.also(next, changes), nil
}

// Change implements host.Packages. It counts when it begins, twice for each
// package that it exchanges, and before it configures them.
func (p *Packages) Change(_ context.Context, changes []host.PackageChange,
	progress func(host.Progress)) (map[string]string, error) {
	if err := p.op(host.OpRun, "apt-get"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return nil, fmt.Errorf("cannot change packages: %w", p.fail)
	}
	if p.broken != "" {
		return nil, fmt.Errorf("cannot change packages: %s; repair first", p.broken)
	}
	next, err := p.solve(changes)
	if err != nil {
		return nil, err
	}
	also := p.also(next, changes)
	if err := p.unpack(next, progress); err != nil {
		return nil, err
	}
	maps.Copy(p.state, next)
	return also, nil
}

// solve is the state of every package after the changes.
func (p *Packages) solve(changes []host.PackageChange) (map[string]image.Package, error) {
	next := maps.Clone(p.state)
	for _, c := range changes {
		if err := p.apply(next, c); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		if c.Absent {
			if err := p.dropDependents(next, c.Name); err != nil {
				return nil, err
			}
		}
	}
	if err := p.dropConflicts(next, changes); err != nil {
		return nil, err
	}
	for _, c := range changes { // requested changes before changes of dependencies
		one := next[c.Name]
		if here := p.state[c.Name].Version; !c.Absent && one.Version == "" && here != "" && c.Version == here {
			continue // a package in sync is not passed to apt, so apt can remove it with its dependency
		}
		if !c.Absent && one.Version == "" {
			return nil, &host.PackagesError{Names: []string{c.Name},
				Err: fmt.Errorf("cannot change packages: %s needs a package that the change removes", c.Name)}
		}
		if c.Version != "" && one.Version != "" && one.Version != c.Version {
			one.Version = c.Version
			next[c.Name] = one
		}
	}
	return next, p.whole(next)
}

func (p *Packages) apply(next map[string]image.Package, c host.PackageChange) error {
	now := next[c.Name]
	moves := now.Version == "" || now.Unfinished() || c.Absent || c.Version != "" && c.Version != now.Version
	if moves && now.Held && c.Held == nil {
		return fmt.Errorf("cannot change package %q: it is held; release it first", c.Name)
	}
	if c.Absent {
		next[c.Name] = p.removed(c.Name, now, c.Purge)
		return nil
	}
	if moves {
		if err := p.install(next, c.Name, c.Version, false); err != nil {
			return err
		}
	}
	now = next[c.Name]
	now.Auto = false
	if c.Held != nil {
		now.Held = *c.Held
	}
	if c.Auto != nil {
		now.Auto = *c.Auto
	}
	next[c.Name] = now
	return nil
}

// removed is dpkg's record of a package after its removal.
func (p *Packages) removed(name string, now image.Package, purge bool) image.Package {
	r, _ := p.find(name, now.Version)
	if purge || !now.Rest() && (now.Version == "" && !now.Unfinished() || !r.leaves()) {
		return image.Package{}
	}
	return image.Package{Status: "rc"}
}

func (p *Packages) install(next map[string]image.Package, name, version string, auto bool) error {
	r, ok := p.find(name, version)
	if !ok {
		return fmt.Errorf("cannot install package %q %s: no repository has it", name, version)
	}
	next[name] = image.Package{Version: r.Version, Status: "ii", Held: next[name].Held, Auto: auto}
	for _, d := range r.Depends {
		dep, exact := needs(d)
		if there := next[dep].Version; there != "" && (exact == "" || there == exact) {
			continue
		}
		if err := p.install(next, dep, exact, true); err != nil {
			return err
		}
	}
	return nil
}

// find is a release, the last published one when version is "".
func (p *Packages) find(name, version string) (Release, bool) {
	for _, r := range slices.Backward(p.releases) {
		if r.Name == name && (version == "" || r.Version == version) {
			return r, true
		}
	}
	return Release{}, false
}

// also returns the previous versions of packages that changed without a request.
func (p *Packages) also(next map[string]image.Package, changes []host.PackageChange) map[string]string {
	out := map[string]string{}
	for name, after := range next {
		asked := slices.ContainsFunc(changes, func(c host.PackageChange) bool {
			return c.Name == name && (c.Absent || after.Version != "")
		})
		if before := p.state[name]; !asked && before.Version != after.Version {
			out[name] = before.Version
		}
	}
	return out
}

// move replaces the files of one version by the files of another, "" for none. A half-unpacked
// package can have files of any version.
func (p *Packages) move(name, from, to string, progress func(host.Progress)) error {
	if progress != nil {
		progress(host.Progress{Text: fmt.Sprintf("%s %s -> %s", name, from, to)})
	}
	fresh := Release{}
	if to != "" {
		fresh, _ = p.find(name, to)
	}
	for _, old := range p.releases {
		if _, torn := p.torn[name]; old.Name != name || old.Version != from && !torn {
			continue
		}
		for _, file := range slices.Sorted(maps.Keys(old.Files)) {
			if slices.Contains(old.Conffiles, file) {
				continue
			}
			if err := p.clear(file, fresh); err != nil {
				return err
			}
		}
	}
	if err := p.point("dpkg"); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(fresh.Files)) {
		if keep, err := p.edited(name, fresh, file); err != nil || keep {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.ship(file, fresh.Files[file]); err != nil {
			return err
		}
	}
	if err := p.data(fresh); err != nil {
		return err
	}
	if err := p.fs.SyncFS("/"); err != nil {
		return err
	}
	return p.point("dpkg")
}

// clear removes a file that the new version does not have, and the remains of its interrupted
// unpacking.
func (p *Packages) clear(file string, fresh Release) error {
	gone := []string{file + ".dpkg-new"}
	if _, stays := fresh.Files[file]; !stays {
		gone = append(gone, file)
	}
	for _, g := range gone {
		if there, err := host.Exists(p.fs, g); err != nil || !there {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.fs.Remove(g); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ship writes one file as dpkg does: beside it, then in its place.
func (p *Packages) ship(file, content string) error {
	if err := makeParents(p.fs, path.Dir(file)); err != nil {
		return err
	}
	temp := file + ".dpkg-new"
	f, err := p.fs.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return p.fs.Rename(temp, file)
}

func makeParents(f *FS, dir string) error {
	if there, err := host.Exists(f, dir); there || err != nil {
		return err
	}
	if err := makeParents(f, path.Dir(dir)); err != nil {
		return err
	}
	return f.Mkdir(dir, 0o755)
}

// Keep implements host.Packages: the repository keeps all its packages.
func (p *Packages) Keep(_ context.Context, name, version string) (string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.find(name, version); !ok || version == "" {
		return "", false, nil
	}
	return fmt.Sprintf("/var/cache/apt/archives/%s_%s_all.deb", name, version), true, nil
}
