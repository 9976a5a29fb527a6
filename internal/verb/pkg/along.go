package pkg

import (
	"context"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/verb"
)

// withDependencies are the changes of the moves, with what an earlier transaction
// changed besides going back where a package goes back to before it: to.Also says
// what was there then. A dependency that somebody else needs by now stays. along
// are those that move, with their versions before.
func withDependencies(ctx context.Context, p host.Packages, moves []*verb.GroupMove) (changes []host.PackageChange, along map[string]string, err error) {
	changes = changesFor(moves)
	deps := dependencies(moves)
	if len(deps) == 0 {
		return changes, nil, nil
	}
	now, err := p.Installed(ctx, names(deps))
	if err != nil {
		return nil, nil, err
	}
	asDependencies(ctx, p, changes, deps, now)
	if !alone(ctx, p, slices.Concat(changes, deps)) {
		one := changes
		deps = slices.DeleteFunc(deps, func(d host.PackageChange) bool {
			with := append(slices.Clone(one), d)
			if !alone(ctx, p, with) {
				return true
			}
			one = with
			return false
		})
	}
	along = map[string]string{}
	for _, d := range deps {
		if have := now[d.Name].Version; have != d.Version {
			along[d.Name] = have
		}
	}
	return slices.Concat(changes, deps), along, ctx.Err()
}

// alone tells whether changes go together, and bring nothing besides.
func alone(ctx context.Context, p host.Packages, changes []host.PackageChange) bool {
	others, err := p.Simulate(ctx, changes)
	return err == nil && len(others) == 0
}

// asDependencies marks those that come back only because what comes back needs
// them.
func asDependencies(ctx context.Context, p host.Packages, changes, deps []host.PackageChange, now map[string]image.Package) {
	back := slices.ContainsFunc(deps, func(d host.PackageChange) bool { return !d.Absent && now[d.Name].Version == "" })
	if !back {
		return
	}
	needed, err := p.Simulate(ctx, changes)
	if err != nil {
		return
	}
	for i, d := range deps {
		if _, is := needed[d.Name]; is && !d.Absent && now[d.Name].Version == "" {
			auto := true
			deps[i].Auto = &auto
		}
	}
}

func names(changes []host.PackageChange) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Name
	}
	return out
}

func dependencies(moves []*verb.GroupMove) []host.PackageChange {
	var out []host.PackageChange
	for _, m := range moves {
		also := m.To.Package.Also
		for _, name := range slices.Sorted(maps.Keys(also)) {
			gone := also[name] == ""
			out = append(out, host.PackageChange{Name: name, Version: also[name], Absent: gone})
		}
	}
	return out
}
