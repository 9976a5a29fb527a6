package mem

import (
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Remains implements host.Packages.
func (p *Packages) Remains(_ context.Context, names []string) (map[string]image.Remains, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]image.Remains{}
	for _, name := range names {
		var one image.Remains
		now := p.state[name]
		for _, r := range p.releases {
			if r.Name != name || r.Version != now.Version && !now.Rest() {
				continue
			}
			for _, f := range r.Conffiles {
				if there, _ := host.Exists(p.fs, f); there && !slices.Contains(one.Conffiles, f) {
					one.Conffiles = append(one.Conffiles, f)
				}
			}
			for _, d := range r.dataDirs() {
				if all, err := p.fs.ReadDir(d); err == nil && len(all) > 0 && !slices.Contains(one.Dirs, d) {
					one.Dirs = append(one.Dirs, d)
				}
			}
			one.Purges = one.Purges || len(r.Data) > 0
		}
		slices.Sort(one.Conffiles)
		slices.Sort(one.Dirs)
		out[name] = one
	}
	return out, nil
}

// dataDirs are the directories of a release's data.
func (r Release) dataDirs() []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(r.Data)) {
		if d := path.Dir(f); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// data plays the script that writes a package's first data.
func (p *Packages) data(r Release) error {
	for _, file := range slices.Sorted(maps.Keys(r.Data)) {
		if there, err := host.Exists(p.fs, file); there || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.ship(file, r.Data[file]); err != nil {
			return err
		}
	}
	return nil
}

// edited reports whether a configuration file stays unchanged: it exists, and differs from all
// releases of the package.
func (p *Packages) edited(name string, fresh Release, file string) (bool, error) {
	if !slices.Contains(fresh.Conffiles, file) {
		return false, nil
	}
	there, err := host.Exists(p.fs, file)
	if err != nil || !there {
		return false, err
	}
	f, err := p.fs.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(p.releases, func(r Release) bool {
		return r.Name == name &&
			r.Files[file] == string(text)
	}), nil
}

// purge deletes the configuration and data of a package that was removed.
func (p *Packages) purge(name string) error {
	for _, r := range p.releases {
		if r.Name != name {
			continue
		}
		for _, f := range r.Conffiles {
			if err := p.clear(f, Release{}); err != nil {
				return err
			}
		}
		for _, d := range r.dataDirs() {
			if err := p.clearTree(d); err != nil {
				return err
			}
		}
	}
	return p.fs.SyncFS("/")
}

func (p *Packages) clearTree(at string) error {
	st, err := p.fs.Lstat(at)
	if err != nil || strings.Count(at, "/") < 2 {
		return nil
	}
	if st.Type == image.Directory {
		names, err := p.fs.ReadDir(at)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := p.clearTree(path.Join(at, n)); err != nil {
				return err
			}
		}
	}
	return p.fs.Remove(at)
}
