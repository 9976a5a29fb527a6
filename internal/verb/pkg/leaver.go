package pkg

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// leaver contains the only rule for dependencies, for all removals. A dependency is
// removed if apt would remove it: it is unneeded, or it depends on a removed package. It stays if
// a step needs it, or if an administrator marked or held it.
type leaver struct {
	p      host.Packages
	now    map[string]image.Package
	own    []string        // installed with the removed packages
	wanted map[string]bool // by the list
	undo   bool
}

// stays is the reason why a package stays regardless of apt, "" if apt decides.
func (l leaver) stays(name string) string {
	one := l.now[name]
	switch {
	case l.wanted[name]:
		return "it is in the list"
	case one.Held:
		return "it is held"
	case !one.Auto && !l.unmarked(name):
		return "it is marked as installed manually"
	}
	return ""
}

// unmarked tells whether a missing mark of a package says nothing: apt did not come to
// mark it.
func (l leaver) unmarked(name string) bool {
	return l.now[name].Unfinished() || l.undo && !l.now[name].Auto
}

// leave decides about the packages of going.
func (l leaver) leave(ctx context.Context, changes, going []host.PackageChange) Along {
	a := Along{Removed: map[string]string{}, StayReasons: map[string]string{}, Others: map[string]bool{}}
	var ask []host.PackageChange
	for _, d := range going {
		why := l.stays(d.Name)
		if why == "" {
			ask = append(ask, d)
			continue
		}
		if slices.Contains(l.own, d.Name) {
			a.StayReasons[d.Name] = why
		}
	}
	keep := l.keep(changes)
	if len(ask) > 0 {
		l.ask(ctx, &a, changes, ask, keep)
	}
	l.mark(ctx, &a, changes, keep)
	return a
}

// keep are the packages of the list that apt calls dependencies, sorted. apt must not remove
// them, nor the packages that they need.
func (l leaver) keep(changes []host.PackageChange) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l.wanted)) {
		one := l.now[name]
		if l.wanted[name] && one.Version != "" && one.Auto && !one.Held && !slices.Contains(names(changes), name) {
			out = append(out, name)
		}
	}
	return out
}

// ask decides about packages that go if apt would remove them.
func (l leaver) ask(ctx context.Context, a *Along, changes, ask []host.PackageChange, keep []string) {
	unneeded, err := l.unneeded(ctx, changes, ask, keep)
	var stay []string
	for _, d := range ask {
		own := slices.Contains(l.own, d.Name)
		switch {
		case err == nil && unneeded[d.Name]:
			a.Removed[d.Name], a.Others[d.Name] = l.now[d.Name].Version, !own
			a.changes = append(a.changes, d)
		case err == nil && own:
			stay = append(stay, d.Name)
		case own:
			a.StayReasons[d.Name] = "apt cannot determine whether a package needs it: " + err.Error()
		}
	}
	l.needed(ctx, stay, slices.Concat(changes, a.changes), a.StayReasons)
}

// mark marks packages of keep as manually installed if only packages that go needed them:
// otherwise the next autoremove would remove them.
func (l leaver) mark(ctx context.Context, a *Along, changes []host.PackageChange, keep []string) {
	going := slices.Concat(changes, a.changes)
	if len(keep) == 0 || !removal(going) {
		return
	}
	o, outlookErr := l.p.Outlook(ctx, going, nil)
	by, neededErr := l.p.NeededBy(ctx, keep)
	for _, name := range keep {
		lost := slices.ContainsFunc(by[name], func(n string) bool { return removes(going, n) })
		if neededErr != nil || lost && (outlookErr != nil || slices.Contains(o.Unneeded, name)) {
			a.Marked = append(a.Marked, name)
			a.changes = append(a.changes, marked(name, l.now[name].Version, false))
		}
	}
}

func removes(changes []host.PackageChange, name string) bool {
	return slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent && c.Name == name })
}

// unneeded are the packages that apt would remove: no package needs them, or they need a
// removed package themselves. A package without a valid mark
// is removed if that removes no other package.
func (l leaver) unneeded(ctx context.Context, changes, ask []host.PackageChange,
	keep []string) (map[string]bool, error) {
	out := map[string]bool{}
	var open []host.PackageChange
	for _, d := range ask {
		if l.unmarked(d.Name) {
			open = append(open, d)
		}
	}
	open = together(ctx, l.p, changes, open)
	o, err := l.p.Outlook(ctx, slices.Concat(changes, open), keep)
	if err != nil {
		return nil, err
	}
	for _, name := range o.Unneeded {
		out[name] = true
	}
	for _, d := range open {
		out[d.Name] = true
	}
	for _, name := range o.Removes { // these need a removed package; othersStay decides about the rest
		out[name] = true
	}
	return out, nil
}

// needed says of packages that stay what needs them.
func (l leaver) needed(ctx context.Context, names []string, going []host.PackageChange, why map[string]string) {
	if len(names) == 0 {
		return
	}
	all, err := l.p.NeededBy(ctx, names)
	for _, name := range names {
		by := slices.DeleteFunc(all[name], func(n string) bool { return removes(going, n) })
		why[name] = "needed by " + strings.Join(by, ", ")
		if err != nil || len(by) == 0 {
			why[name] = "apt does not report it as unneeded"
		}
	}
}
