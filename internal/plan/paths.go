package plan

import (
	"iter"
	"path"

	"fettle.dev/fettle/internal/addr"
)

// parents yields the directories above a path, from the deepest, without the root directory.
func parents(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := path.Dir(p); d != "/" && d != "." && yield(d); d = path.Dir(d) {
		}
	}
}

// isPath reports whether an address is a path, or a part of the object at a path.
func isPath(a addr.Addr) bool {
	return a.Kind() == addr.KindFile || ownsPart(a)
}

// ownsPart reports whether an address is a part of the object at a path.
func ownsPart(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }
