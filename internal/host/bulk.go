package host

// Bulk is a Reader that can read the status of many entries of a directory faster than one by one.
type Bulk interface {
	// LstatEach calls each with the result of Lstat for every name in dir, in order, until it
	// returns false.
	LstatEach(dir string, names []string, each func(i int, st Stat, err error) bool)
}

// LstatEach is Lstat of every name in dir, in order, until each returns false.
// The name "." in "/" is the root.
func LstatEach(r Reader, dir string, names []string, each func(i int, st Stat, err error) bool) {
	if b, ok := r.(Bulk); ok {
		b.LstatEach(dir, names, each)
		return
	}
	for i, n := range names {
		st, err := r.Lstat(JoinPath(dir, n))
		if !each(i, st, err) {
			return
		}
	}
}

// JoinPath is the inverse of SplitPath.
func JoinPath(dir, base string) string {
	switch {
	case base == ".":
		return dir
	case dir == "/":
		return "/" + base
	}
	return dir + "/" + base
}
