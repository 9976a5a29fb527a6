package apt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// infoDir is where dpkg keeps the file lists and scripts of packages.
const infoDir = "/var/lib/dpkg/info"

// remainsEntries limits how many entries of one directory are compared with the files of its
// package. A larger directory counts as a directory with data.
const remainsEntries = 2000

// Remains implements host.Packages. The directories are from the package's list of files, and from
// literal names in its maintainer scripts.
func (p *packages) Remains(ctx context.Context, names []string) (map[string]image.Remains, error) {
	out := make(map[string]image.Remains, len(names))
	if len(names) == 0 {
		return out, nil
	}
	inv, err := p.inventory(ctx)
	if err != nil {
		return nil, err
	}
	left := remains{p.h}
	conffiles, err := left.conffiles(ctx, inv)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		key := inv.key(name)
		if _, known := inv.packages[key]; !known {
			out[name] = image.Remains{}
			continue
		}
		if out[name], err = left.remainsOf(inv, key, conffiles[key]); err != nil {
			return nil, fmt.Errorf("cannot list the files that package %s leaves: %w", name, err)
		}
	}
	return out, nil
}

// remains finds what packages leave on a host after their removal.
type remains struct{ h host.Host }

// conffiles are the configuration files of all packages that dpkg knows. A name
// that dpkg does not know would be an error, hence all.
func (p remains) conffiles(ctx context.Context, inv inventory) (map[string][]string, error) {
	const format = "=${Package}:${Architecture}\n${Conffiles}\n"
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"dpkg-query", "-W", "-f", format}, Timeout: time.Minute})
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration files of packages: %w", err)
	}
	out := map[string][]string{}
	name := ""
	for line := range strings.Lines(string(r.Stdout)) {
		if head, ok := strings.CutPrefix(line, "="); ok {
			name = inv.key(strings.TrimSuffix(strings.TrimSpace(head), ":all"))
			continue
		}
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "/") {
			out[name] = append(out[name], f[0])
		}
	}
	return out, nil
}

func (p remains) remainsOf(inv inventory, name string, conffiles []string) (image.Remains, error) {
	var out image.Remains
	for _, f := range conffiles {
		if there, err := host.Exists(p.h, f); err == nil && there {
			out.Conffiles = append(out.Conffiles, f)
		}
	}
	slices.Sort(out.Conffiles)
	list, err := p.info(inv, name, "list")
	if err != nil {
		return out, err
	}
	own := map[string]bool{}
	var dirs []string
	for f := range strings.Lines(list) {
		f = strings.TrimSpace(f)
		own[f] = true
		dirs = append(dirs, f)
	}
	for _, f := range conffiles {
		delete(own, f)
	}
	for _, script := range []string{"preinst", "postinst", "prerm", "postrm"} {
		text, err := p.info(inv, name, script)
		if err != nil {
			return out, err
		}
		out.Purges = out.Purges || script == "postrm" && strings.Contains(text, "purge")
		dirs = append(dirs, dataPath().FindAllString(text, -1)...)
	}
	out.Dirs = p.filled(dataDirs(dirs), own)
	return out, nil
}

// info reads a file that dpkg keeps about a package, "" when there is none.
func (p remains) info(inv inventory, name, what string) (string, error) {
	for _, stem := range []string{name, name + ":" + inv.packages[name].arch} {
		f, err := p.h.Open(path.Join(infoDir, stem+"."+what))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(f)
		return string(b), errors.Join(err, f.Close())
	}
	return "", nil
}

// dataPath finds literal paths of data in a script.
var dataPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/(?:var|srv)/[A-Za-z0-9_.+@/-]+`) })

// sharedDirs belong to no single package, although scripts name them.
func sharedDirs() []string {
	return []string{"/var/run", "/var/lock", "/var/tmp", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/systemd",
		"/var/lib/ucf", "/var/lib/pam", "/var/cache/debconf", "/var/cache/apt", "/var/log/journal"}
}

// dataDirs are the topmost of the paths that can be directories of one package:
// /var/lib/NAME, /srv/NAME and the like.
func dataDirs(paths []string) []string {
	var out []string
	for _, p := range paths {
		p = path.Clean(p)
		depth := strings.Count(p, "/")
		if !strings.HasPrefix(p, "/var/") && !strings.HasPrefix(p, "/srv/") || strings.HasPrefix(p, "/var/") && depth < 3 ||
			host.CheckPath(p) != nil {
			continue
		}
		if !slices.ContainsFunc(sharedDirs(), func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") }) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	var top []string
	for _, p := range out {
		if n := len(top); n == 0 || p != top[n-1] && !strings.HasPrefix(p, top[n-1]+"/") {
			top = append(top, p)
		}
	}
	return top
}

// filled returns the directories with files that do not belong to the package.
func (p remains) filled(dirs []string, own map[string]bool) []string {
	var out []string
	for _, d := range dirs {
		left := remainsEntries
		if st, err := p.h.Lstat(d); err == nil && st.Type == image.Directory && p.foreign(d, own, &left) {
			out = append(out, d)
		}
	}
	return out
}

// foreign reports whether a directory contains files outside of own. left is the remaining number
// of entries to check.
func (p remains) foreign(dir string, own map[string]bool, left *int) bool {
	names, err := p.h.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, n := range names {
		if *left--; *left < 0 {
			return true
		}
		full := path.Join(dir, n)
		st, err := p.h.Lstat(full)
		if err != nil {
			continue
		}
		if st.Type != image.Directory {
			if !own[full] {
				return true
			}
		} else if p.foreign(full, own, left) {
			return true
		}
	}
	return false
}
