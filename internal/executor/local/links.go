package local

import (
	"path"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// links counts the names that a file has at some other paths and below them, for the plan. A
// directory that cannot be read may have all of them.
func (x *planner) links(file string, at []string) uint64 {
	st, err := x.host.Lstat(file)
	if err != nil {
		return 0
	}
	w := walk{x.host, st, map[string]bool{path.Clean(file): true}}
	var n uint64
	for _, p := range at {
		n += w.count(path.Clean(p))
	}
	return n
}

// walk looks for the names of one file, at each path once.
type walk struct {
	host host.Reader
	file host.Stat
	seen map[string]bool
}

func (w walk) count(p string) (n uint64) {
	if w.seen[p] {
		return 0
	}
	w.seen[p] = true
	st, err := w.host.Lstat(p)
	if err != nil {
		return 0
	}
	if st.Type != image.Directory {
		if st.Ino == w.file.Ino && st.Dev == w.file.Dev {
			return 1
		}
		return 0
	}
	names, err := w.host.ReadDir(p)
	if err != nil {
		return w.file.Nlink
	}
	for _, name := range names {
		n += w.count(path.Join(p, name))
	}
	return n
}
