package local

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
)

// namesLike returns the names on the host that are of the same kind as need. Unreadable
// names are omitted, since the names are only suggestions.
func (x *planner) namesLike(need addr.Addr) []string {
	dirs := plan.Dirs(need.Kind())
	switch need.Kind() {
	case addr.KindUser:
		return x.names.Users()
	case addr.KindGroup:
		return x.names.Groups()
	case addr.KindFile:
		dirs = []string{path.Dir(need.Name())}
	}
	var out []string
	for _, dir := range dirs {
		if there, err := x.host.ReadDir(dir); err == nil {
			out = append(out, there...)
		}
	}
	return out
}

// missing gives a function that tells whether the host surely lacks a program or a unit.
func (x *planner) missing(ctx context.Context) func(addr.Addr) bool {
	return func(need addr.Addr) bool {
		if need.Kind() != addr.KindUnit {
			err := x.host.Find(need.Name(), "/")
			return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnsupported)
		}
		units, err := x.host.Units()
		if err != nil {
			return false
		}
		u, err := units.Unit(ctx, need.Name())
		return err == nil && !u.Loaded && !u.Masked
	}
}

// absent reports whether a path does not exist. It is false if this is unknown.
func (x *planner) absent(p string) bool {
	_, err := x.host.Lstat(p)
	return errors.Is(err, fs.ErrNotExist)
}
