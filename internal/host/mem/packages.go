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
	Depends       []string
	Files         map[string]string // path to content; directories are made as needed
}

// Packages plays apt and dpkg. The candidate is the release published last.
type Packages struct {
	fs *FS
	op host.Counter

	mu       sync.Mutex
	releases []Release
	state    map[string]image.Package
	broken   string
	fail     error
}

var _ host.Packages = (*Packages)(nil)

func newPackages() *Packages { return &Packages{state: map[string]image.Package{}} }

func (p *Packages) clone() *Packages {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Packages{releases: slices.Clone(p.releases), state: maps.Clone(p.state), broken: p.broken, fail: p.fail}
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

// Break makes Audit tell text, until Repair; "" makes all well.
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

// Change implements host.Packages: one counted operation.
func (p *Packages) Change(_ context.Context, changes []host.PackageChange, progress func(string)) (map[string]string, error) {
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
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if err := p.move(name, p.state[name].Version, next[name].Version, progress); err != nil {
			return nil, err
		}
		p.state[name] = next[name]
	}
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
			p.dropDependents(next, c.Name)
		}
	}
	return next, nil
}

func (p *Packages) apply(next map[string]image.Package, c host.PackageChange) error {
	now := next[c.Name]
	if c.Absent {
		next[c.Name] = removed(now, c.Purge)
		return nil
	}
	if now.Version == "" || c.Version != "" && c.Version != now.Version {
		if now.Held && (c.Held == nil || *c.Held) {
			return fmt.Errorf("cannot change package %q: it is held; release it first", c.Name)
		}
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

func removed(now image.Package, purge bool) image.Package {
	if purge || now.Status == "" {
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
	for _, dep := range r.Depends {
		if next[dep].Version != "" {
			continue
		}
		if err := p.install(next, dep, "", true); err != nil {
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

// dropDependents removes what cannot be without a package.
func (p *Packages) dropDependents(next map[string]image.Package, gone string) {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		r, ok := p.find(name, next[name].Version)
		if next[name].Version != "" && ok && slices.Contains(r.Depends, gone) {
			next[name] = removed(next[name], false)
			p.dropDependents(next, name)
		}
	}
}

// also are the versions before of what nobody asked for.
func (p *Packages) also(next map[string]image.Package, changes []host.PackageChange) map[string]string {
	out := map[string]string{}
	for name, after := range next {
		asked := slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Name == name })
		if before := p.state[name]; !asked && before.Version != after.Version {
			out[name] = before.Version
		}
	}
	return out
}

// move exchanges the files of two versions, "" for none.
func (p *Packages) move(name, from, to string, progress func(string)) error {
	if from == to {
		return nil
	}
	if progress != nil {
		progress(fmt.Sprintf("%s %s -> %s", name, from, to))
	}
	old, _ := p.find(name, from)
	fresh := Release{}
	if to != "" {
		fresh, _ = p.find(name, to)
	}
	for _, file := range slices.Sorted(maps.Keys(old.Files)) {
		if _, stays := fresh.Files[file]; from == "" || stays {
			continue
		}
		if err := p.fs.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(fresh.Files)) {
		if err := p.ship(file, fresh.Files[file]); err != nil {
			return err
		}
	}
	return p.fs.SyncFS("/")
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

// Audit implements host.Packages.
func (p *Packages) Audit(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken, nil
}

// Repair implements host.Packages.
func (p *Packages) Repair(context.Context, func(string)) error {
	if err := p.op(host.OpRun, "dpkg"); err != nil {
		return err
	}
	p.Break("")
	return nil
}

// Keep implements host.Packages: the repository keeps what it has.
func (p *Packages) Keep(_ context.Context, name, version string) (string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.find(name, version); !ok || version == "" {
		return "", false, nil
	}
	return fmt.Sprintf("/var/cache/apt/archives/%s_%s_all.deb", name, version), true, nil
}
