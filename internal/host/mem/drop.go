package mem

import (
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// dropDependents removes packages that depend on a package. As with apt, this fails if it would
// remove a held package.
func (p *Packages) dropDependents(next map[string]image.Package, gone string) error {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		r, ok := p.find(name, next[name].Version)
		if next[name].Version == "" || !ok || !slices.ContainsFunc(r.Depends,
			func(d string) bool { dep, _ := needs(d); return dep == gone }) {
			continue
		}
		if err := p.drop(next, name, "needs "+gone); err != nil {
			return err
		}
	}
	return nil
}

func (p *Packages) drop(next map[string]image.Package, name, why string) error {
	if next[name].Held {
		return &host.PackagesError{Names: []string{name},
			Err: fmt.Errorf("cannot change packages: %s is held and %s", name, why)}
	}
	next[name] = p.removed(name, next[name], false)
	return p.dropDependents(next, name)
}

// dropConflicts removes packages that conflict with new ones.
func (p *Packages) dropConflicts(next map[string]image.Package, changes []host.PackageChange) error {
	for _, comes := range slices.Sorted(maps.Keys(next)) {
		if next[comes].Version == "" || next[comes].Version == p.state[comes].Version {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(next)) {
			if next[name].Version == "" || name == comes || !p.conflict(next, comes, name) {
				continue
			}
			if slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Name == name }) {
				return &host.PackagesError{Names: []string{comes, name},
					Err: fmt.Errorf("cannot change packages: %s conflicts with %s", comes, name)}
			}
			if err := p.drop(next, name, "conflicts with "+comes); err != nil {
				return err
			}
		}
	}
	return nil
}

// conflict reports whether two packages cannot be installed together.
func (p *Packages) conflict(next map[string]image.Package, one, other string) bool {
	a, _ := p.find(one, next[one].Version)
	b, _ := p.find(other, next[other].Version)
	return slices.Contains(a.Conflicts, other) || slices.Contains(b.Conflicts, one)
}
