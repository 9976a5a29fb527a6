package pkg

import (
	"context"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/verb"
)

// asDependencies marks restored packages as dependencies if they were dependencies
// before.
func asDependencies(moves []*verb.GroupMove, deps []host.PackageChange) {
	for i, d := range deps {
		if slices.ContainsFunc(moves, func(m *verb.GroupMove) bool {
			return slices.Contains(m.To.Package().AutoBefore,
				d.Name)
		}) {
			auto := true
			deps[i].Auto = &auto
		}
	}
}

// markCame marks the dependencies of the packages of moves as automatically installed, in
// case apt was interrupted before it did so.
func markCame(ctx context.Context, e verb.Env, p host.Packages, moves []*verb.GroupMove) error {
	named := map[string]bool{}
	var came []string
	for _, m := range moves {
		named[m.Step.Args[0]] = true
		for name, was := range m.From.Package().AlsoChanged {
			if was == "" && m.To.Package().Version != "" {
				came = append(came, name)
			}
		}
	}
	if len(came) == 0 {
		return nil
	}
	now, err := p.Installed(ctx, came)
	if err != nil {
		return err
	}
	var changes []host.PackageChange
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if one := now[name]; one.Version != "" && !one.Auto && !named[name] {
			changes = append(changes, marked(name, one.Version, true))
		}
	}
	if len(changes) > 0 {
		_, err = p.Change(ctx, changes, e.Progress)
	}
	return err
}

// autosThen are the packages that were marked as dependencies before the transactions
// that moves undo, and that those transactions kept and marked as manually installed.
func autosThen(moves []*verb.GroupMove) []string {
	var out []string
	for _, m := range moves {
		to := m.To.Package()
		if to.Version == "" {
			continue
		}
		for _, name := range to.AutoBefore {
			if _, changed := to.AlsoChanged[name]; !changed {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// remark marks packages as dependencies again, without the packages of changes, which have
// their own marks.
func remark(autos []string, now map[string]image.Package, changes []host.PackageChange) []host.PackageChange {
	var out []host.PackageChange
	for _, name := range autos {
		if one := now[name]; one.Version != "" && !one.Auto && !slices.Contains(names(changes), name) {
			out = append(out, marked(name, one.Version, true))
		}
	}
	return out
}

// marked changes only the mark of an installed package.
func marked(name, version string, auto bool) host.PackageChange {
	return host.PackageChange{Name: name, Version: version, Auto: &auto}
}
