package pkg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// Along are the effects of removals on packages that were installed as dependencies.
type Along struct {
	// The dependencies that are removed too, with their present versions.
	Goes map[string]string
	// Stays are the packages of the moves that stay installed, with the reason.
	Stays map[string]string
	// Others are the removed dependencies that were installed with a different package of
	// fettle.
	Others map[string]bool
	// changes are the changes for apt: removals of dependencies, restored packages, and
	// marks.
	changes []host.PackageChange
}

// NeededError refuses to remove packages that others need which do not go.
type NeededError struct {
	By []string // sorted
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("apt would also remove %s, which needs it and which this run does not remove; nobody loses a package that no step names: remove it first, or add %s",
		strings.Join(e.By, ", "), absences(e.By))
}

func absences(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("package %q { ensure = \"absent\" }", n)
	}
	return strings.Join(out, ", ")
}

// Foretell tells which packages go along with the moves and which stay. The error is
// a NeededError where apt would remove a package that is none of these.
func (v Pkg) Foretell(ctx context.Context, e verb.Env, moves []*verb.GroupMove) (Along, error) {
	p, err := e.Host.Packages()
	if err != nil {
		return Along{}, err
	}
	changes := changesFor(moves)
	a, err := along(ctx, e, p, changes, moves)
	if err != nil {
		return a, err
	}
	return a, othersStay(ctx, p, slices.Concat(changes, a.changes))
}

// along decides about everything that earlier transactions brought with the packages
// of moves, or changed for them: to.Also says what was there before.
func along(ctx context.Context, e verb.Env, p host.Packages, changes []host.PackageChange, moves []*verb.GroupMove) (Along, error) {
	deps := dependencies(moves)
	own := names(deps)
	deps = append(deps, brought(e, changes, own)...)
	if len(deps) == 0 {
		return Along{}, nil
	}
	now, err := p.Installed(ctx, names(deps))
	if err != nil {
		return Along{}, err
	}
	going, back := split(deps, now)
	asDependencies(moves, back)
	l := leaver{p: p, now: now, own: own, claimed: e.Claimed, undo: slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return m.Undo })}
	a := l.leave(ctx, slices.Concat(changes, back), going)
	back = together(ctx, p, slices.Concat(changes, a.changes), back)
	for _, d := range back {
		if have := now[d.Name].Version; have != d.Version {
			a.Goes[d.Name] = have
		}
	}
	a.changes = append(a.changes, back...)
	return a, ctx.Err()
}

// split separates the dependencies that were absent before from the dependencies that
// were present.
func split(deps []host.PackageChange, now map[string]image.Package) (going, back []host.PackageChange) {
	for _, d := range deps {
		switch one := now[d.Name]; {
		case !d.Absent:
			back = append(back, d)
		case one.Version != "" || one.Unfinished():
			going = append(going, d)
		}
	}
	return going, back
}

// leaver contains the only rule for dependencies, for all removals. A dependency is
// removed if apt would remove it as unneeded, no step needs it, and no administrator
// marked or held it.
type leaver struct {
	p       host.Packages
	now     map[string]image.Package
	own     []string          // installed with the removed packages
	claimed func(string) bool // may be nil
	undo    bool
}

// stays is the reason why a package stays regardless of apt, "" if apt decides.
func (l leaver) stays(name string) string {
	one := l.now[name]
	switch {
	case l.claimed != nil && l.claimed(name):
		return "the list wants it"
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

func (l leaver) leave(ctx context.Context, changes, going []host.PackageChange) Along {
	a := Along{Goes: map[string]string{}, Stays: map[string]string{}, Others: map[string]bool{}}
	var ask []host.PackageChange
	var keep []string
	for _, d := range going {
		why := l.stays(d.Name)
		if why == "" {
			ask = append(ask, d)
			continue
		}
		if slices.Contains(l.own, d.Name) {
			a.Stays[d.Name] = why
		}
		if one := l.now[d.Name]; one.Auto && !one.Held { // autoremove must keep packages of the list
			keep = append(keep, d.Name)
			manual := false
			a.changes = append(a.changes, host.PackageChange{Name: d.Name, Version: one.Version, Auto: &manual})
		}
	}
	if len(ask) == 0 {
		return a
	}
	unneeded, err := l.unneeded(ctx, changes, ask, keep)
	var stay []string
	for _, d := range ask {
		own := slices.Contains(l.own, d.Name)
		switch {
		case err == nil && unneeded[d.Name]:
			a.Goes[d.Name], a.Others[d.Name] = l.now[d.Name].Version, !own
			a.changes = append(a.changes, d)
		case err == nil && own:
			stay = append(stay, d.Name)
		case own:
			a.Stays[d.Name] = "apt cannot tell whether something needs it: " + err.Error()
		}
	}
	l.needed(ctx, stay, slices.Concat(changes, a.changes), a.Stays)
	return a
}

// unneeded are the packages of ask that apt would remove. A package without a valid mark
// is removed if that removes no other package.
func (l leaver) unneeded(ctx context.Context, changes, ask []host.PackageChange, keep []string) (map[string]bool, error) {
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
	return out, nil
}

// needed says of packages that stay what needs them.
func (l leaver) needed(ctx context.Context, names []string, going []host.PackageChange, why map[string]string) {
	if len(names) == 0 {
		return
	}
	all, err := l.p.NeededBy(ctx, names)
	for _, name := range names {
		by := slices.DeleteFunc(all[name], func(n string) bool {
			return slices.ContainsFunc(going, func(c host.PackageChange) bool { return c.Absent && c.Name == n })
		})
		why[name] = "needed by " + strings.Join(by, ", ")
		if err != nil || len(by) == 0 {
			why[name] = "apt does not call it unneeded"
		}
	}
}

// brought are the other packages that may be unneeded when something is removed.
func brought(e verb.Env, changes []host.PackageChange, own []string) []host.PackageChange {
	if !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent }) {
		return nil
	}
	named := append(names(changes), own...)
	var out []host.PackageChange
	for _, name := range e.Brought {
		if !slices.Contains(named, name) {
			out = append(out, host.PackageChange{Name: name, Absent: true})
		}
	}
	return out
}

// othersStay returns an error if removals would also remove a package that no step names.
// Conflicts of an installation are handled by displaced.
func othersStay(ctx context.Context, p host.Packages, changes []host.PackageChange) error {
	var gone []host.PackageChange
	for _, c := range changes {
		if c.Absent {
			gone = append(gone, c)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	all, err := p.Outlook(ctx, changes, nil)
	if err == nil && len(all.Leaves) == 0 {
		return nil
	}
	alone, aloneErr := p.Outlook(ctx, gone, nil)
	if err != nil || aloneErr != nil {
		return errors.Join(heldStay(ctx, p, alone.Leaves), err, aloneErr)
	}
	by := slices.DeleteFunc(alone.Leaves, func(n string) bool { return !slices.Contains(all.Leaves, n) })
	if len(by) == 0 {
		return nil
	}
	return &NeededError{By: by}
}

// heldStay returns an error if a removal would also remove held packages. If a removal is
// combined with an installation, apt does not report this reason: it fails.
func heldStay(ctx context.Context, p host.Packages, leaves []string) error {
	now, err := p.Installed(ctx, leaves)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(slices.Clone(leaves), func(name string) bool { return !now[name].Held })
	if len(held) == 0 {
		return nil
	}
	return &NeededError{By: held}
}

// together are the changes of more that can be combined with changes without any further
// change.
func together(ctx context.Context, p host.Packages, changes, more []host.PackageChange) []host.PackageChange {
	if len(more) == 0 || alone(ctx, p, slices.Concat(changes, more)) {
		return more
	}
	one := slices.Clone(changes)
	return slices.DeleteFunc(slices.Clone(more), func(d host.PackageChange) bool {
		with := append(slices.Clone(one), d)
		if !alone(ctx, p, with) {
			return true
		}
		one = with
		return false
	})
}

// alone reports whether apt can make the changes without any further change.
func alone(ctx context.Context, p host.Packages, changes []host.PackageChange) bool {
	others, err := p.Simulate(ctx, changes)
	return err == nil && len(others) == 0
}

// asDependencies marks restored packages as dependencies if they were dependencies
// before.
func asDependencies(moves []*verb.GroupMove, deps []host.PackageChange) {
	for i, d := range deps {
		if slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return slices.Contains(m.To.Package.Autos, d.Name) }) {
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
		for name, was := range m.From.Package.Also {
			if was == "" && m.To.Package.Version != "" {
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
			auto := true
			changes = append(changes, host.PackageChange{Name: name, Version: one.Version, Auto: &auto})
		}
	}
	if len(changes) > 0 {
		_, err = p.Change(ctx, changes, e.Progress)
	}
	return err
}

func names(changes []host.PackageChange) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Name
	}
	return out
}

// dependencies are the further packages that the transactions of the packages of moves
// changed, without the packages that have a move.
func dependencies(moves []*verb.GroupMove) []host.PackageChange {
	named := map[string]bool{}
	for _, m := range moves {
		named[m.Step.Args[0]] = true
	}
	var out []host.PackageChange
	for _, m := range moves {
		also := m.To.Package.Also
		for _, name := range slices.Sorted(maps.Keys(also)) {
			if named[name] {
				continue
			}
			named[name] = true
			out = append(out, host.PackageChange{Name: name, Version: also[name], Absent: also[name] == ""})
		}
	}
	return out
}

// Wanted are the packages of PKG steps; the value is true if the package must be
// installed.
func Wanted(steps step.List) map[string]bool {
	out := map[string]bool{}
	for _, s := range steps {
		if s.Verb == step.Pkg {
			out[s.Args[0]] = !s.Absent()
		}
	}
	return out
}
