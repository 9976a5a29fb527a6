package incremental

import (
	"errors"
	"io/fs"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/repo"
)

// samePath reports whether two trees have the same content at a path.
func samePath(a, b repo.Tree, p string) bool {
	x, xerr := a.Stat(p)
	y, yerr := b.Stat(p)
	switch {
	case xerr != nil || yerr != nil:
		return errors.Is(xerr, fs.ErrNotExist) && errors.Is(yerr, fs.ErrNotExist)
	case x.Type != y.Type || x.Exec != y.Exec || x.Path != y.Path:
		return false
	case x.Type == repo.File:
		d, _, derr := a.Digest(p)
		e, _, eerr := b.Digest(p)
		return derr == nil && eerr == nil && d == e
	case x.Type == repo.Symlink:
		d, derr := a.Readlink(p)
		e, eerr := b.Readlink(p)
		return derr == nil && eerr == nil && d == e
	}
	return sameDirectory(a, b, p)
}

// sameDirectory compares the entries of a directory by name, type and size. The content of each entry
// is a separate read.
func sameDirectory(a, b repo.Tree, p string) bool {
	x, xerr := a.ReadDir(p)
	y, yerr := b.ReadDir(p)
	if xerr != nil || yerr != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// sameValue reports whether two values are identical.
func sameValue(a, b cty.Value) bool {
	if a == cty.NilVal || b == cty.NilVal {
		return a == b
	}
	return a.RawEquals(b)
}
