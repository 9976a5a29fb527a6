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
	Removed map[string]string
	// StayReasons are the packages of the moves that stay installed, with the reason.
	StayReasons map[string]string
	// Others are the removed dependencies that were installed with a different package of
	// fettle.
	Others map[string]bool
	// Marked are the dependencies that stay and become manually installed, sorted.
	Marked []string
	// changes are the changes for apt: removals of dependencies, restored packages, and
	// marks.
	changes []host.PackageChange
}

// NeededError refuses to remove packages that others need which do not go.
type NeededError struct {
	By []string // sorted
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("apt would also remove %s, which needs it and which this run does not remove; fettle removes only packages that a step names: remove it first, or add %s",
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
func along(ctx context.Context, e verb.Env, p host.Packages, changes []host.PackageChange,
	moves []*verb.GroupMove) (Along, error) {
	deps := dependencies(moves)
	own, autos, wanted := names(deps), autosThen(moves), claimed(e)
	deps = append(deps, brought(e, changes, own)...)
	if len(deps)+len(autos) == 0 && !(removal(changes) && len(wanted) > 0) {
		return Along{}, nil
	}
	now, err := p.Installed(ctx, slices.Concat(names(deps), autos, slices.Sorted(maps.Keys(wanted))))
	if err != nil {
		return Along{}, err
	}
	going, back := split(deps, now)
	asDependencies(moves, back)
	l := leaver{p: p, now: now, own: own, wanted: wanted,
		undo: slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return m.Undo })}
	a := l.leave(ctx, slices.Concat(changes, back), going)
	back = together(ctx, p, slices.Concat(changes, a.changes), back)
	for _, d := range back {
		if have := now[d.Name].Version; have != d.Version {
			a.Removed[d.Name] = have
		}
	}
	a.changes = append(a.changes, back...)
	a.changes = append(a.changes, remark(autos, now, slices.Concat(changes, a.changes))...)
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

// brought are the other packages that may be unneeded when something is removed.
func brought(e verb.Env, changes []host.PackageChange, own []string) []host.PackageChange {
	if !removal(changes) {
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
	if err == nil && len(all.Removes) == 0 {
		return nil
	}
	alone, aloneErr := p.Outlook(ctx, gone, nil)
	if err != nil || aloneErr != nil {
		return errors.Join(heldStay(ctx, p, alone.Removes), err, aloneErr)
	}
	by := slices.DeleteFunc(alone.Removes, func(n string) bool { return !slices.Contains(all.Removes, n) })
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

// removal tells whether changes remove a package.
func removal(changes []host.PackageChange) bool {
	return slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent })
}

// claimed are the packages that the list requires, nil without a list.
func claimed(e verb.Env) map[string]bool {
	if e.Claimed == nil {
		return nil
	}
	return e.Claimed()
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
		also := m.To.Package().AlsoChanged
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
