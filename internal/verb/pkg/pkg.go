// Package pkg is PKG: apt packages. Consecutive PKG steps are one transaction.
//
//	PKG nginx
//	PKG postgresql version=15.8-0+deb12u1 held=true
//	PKG telnet ensure=absent
//	PKG rsh-client ensure=purged
package pkg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// Pkg is PKG.
type Pkg struct{}

// Observe implements verb.Verb.
func (v Pkg) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	m, err := v.ObserveAll(ctx, e, []step.Step{s})
	if err != nil {
		return image.Image{}, err
	}
	return m[0], nil
}

// ObserveAll reads many packages at once, in the order of the steps.
func (Pkg) ObserveAll(ctx context.Context, e verb.Env, steps []step.Step) ([]image.Image, error) {
	p, err := e.Host.Packages()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Args[0]
	}
	found, err := p.Installed(ctx, names)
	if err != nil {
		return nil, err
	}
	out := make([]image.Image, len(steps))
	for i, n := range names {
		one := found[n]
		if goes(steps[i], one) && !one.DebStored {
			one.DebStored = CanKeep(ctx, p, n, one.Version)
		}
		out[i] = image.Of(&one)
	}
	return out, nil
}

// It reports whether a step removes or replaces the installed version.
func goes(s step.Step, now image.Package) bool {
	v := s.Get("version")
	return now.Version != "" && (s.Absent() || v != "" && v != now.Version)
}

// keeper is an optional ability of packages: it reports whether Keep would find the file
// of a version, without fetching it.
type keeper interface {
	CanKeep(ctx context.Context, name, version string) bool
}

// noter is an optional ability of packages: the notes for the user about the last change
// or repair.
type noter interface {
	Notes() []string
}

// Notes are the notes for the user about the last change or repair by p.
func Notes(p host.Packages) []string {
	if n, ok := p.(noter); ok {
		return n.Notes()
	}
	return nil
}

// CanKeep tells whether a version of a package can be put back after it was removed.
func CanKeep(ctx context.Context, p host.Packages, name, version string) bool {
	k, ok := p.(keeper)
	return ok && k.CanKeep(ctx, name, version)
}

// Target implements verb.Verb.
func (Pkg) Target(s step.Step, now image.Image, _ verb.Names) (image.Image, error) {
	p := image.Package{}
	if now.Package() != nil {
		p = *now.Package()
	}
	switch v := s.Get("version"); {
	case s.Absent():
		return image.Of(&image.Package{Purged: s.Purged()}), nil
	case v != "":
		p.Version = v
	case p.Version == "":
		p.Version = image.Candidate
	}
	if h, ok := s.Lookup("held"); ok {
		p.Held = h == "true"
	}
	switch {
	case p.Leaving():
		p.Status = "ii"
	case p.Unfinished():
		p.Status = p.Status[:1] + "i"
	}
	p.AlsoChanged, p.AutoBefore = nil, nil
	return image.Of(&p), nil
}

// Move implements verb.Mover.
func (v Pkg) Move(ctx context.Context, e verb.Env, s step.Step, from, to image.Image) error {
	return v.MoveAll(ctx, e, []*verb.GroupMove{{Step: s, From: from, To: to}})
}

// MoveAll implements verb.Group with one transaction. Its undo also removes the
// dependencies that the transaction installed.
func (v Pkg) MoveAll(ctx context.Context, e verb.Env, moves []*verb.GroupMove) error {
	p, err := e.Host.Packages()
	if err != nil {
		return err
	}
	changes := changesFor(moves)
	a, err := along(ctx, e, p, changes, moves)
	if err != nil || len(changes)+len(a.changes) == 0 {
		return err
	}
	changes = append(changes, a.changes...)
	if err := refused(othersStay(ctx, p, changes)); err != nil {
		return fmt.Errorf("cannot change packages %s: %w", named(moves), err)
	}
	gone, err := displaced(ctx, e, p, changes, moves)
	if err != nil {
		return fmt.Errorf("cannot change packages %s: %w", named(moves), err)
	}
	leave := remains(ctx, p, changes)
	also, err := p.Change(ctx, changes, e.Progress)
	moves[0].AlsoChanged = both(also, a.Removed)
	if err == nil {
		noteDisplaced(e, gone)
		err = markCame(ctx, e, p, moves)
	}
	noteRemains(ctx, e, p, leave)
	for _, text := range Notes(p) {
		e.Note(text)
	}
	if err != nil {
		return fmt.Errorf("cannot change packages %s: %w", named(moves), err)
	}
	return nil
}

// named are the packages of a transaction, for messages.
func named(moves []*verb.GroupMove) string {
	names := make([]string, len(moves))
	for i, m := range moves {
		names[i] = m.Step.Args[0]
	}
	return strings.Join(names, ", ")
}

// Command is the shell command that does the same as MoveAll, "" if it is unknown.
func (v Pkg) Command(ctx context.Context, e verb.Env, moves []*verb.GroupMove) string {
	p, err := e.Host.Packages()
	if err != nil {
		return ""
	}
	t, ok := p.(typist)
	if !ok {
		return ""
	}
	return t.Command(ctx, append(changesFor(moves), dependencies(moves)...))
}

// typist is an optional ability of packages: the shell command of a change.
type typist interface {
	Command(ctx context.Context, changes []host.PackageChange) string
}

// Foresee returns the further packages that MoveAll will change, name to present version,
// and the dependencies that it will mark as manually installed.
func (v Pkg) Foresee(ctx context.Context, e verb.Env, moves []*verb.GroupMove) (also map[string]string, marked []string, err error) {
	p, err := e.Host.Packages()
	if err != nil {
		return nil, nil, err
	}
	changes := changesFor(moves)
	a, err := along(ctx, e, p, changes, moves)
	if err != nil || len(changes)+len(a.changes) == 0 {
		return nil, nil, err
	}
	also, err = p.Simulate(ctx, append(changes, a.changes...))
	return both(also, a.Removed), a.Marked, err
}

// refused returns err if it is a NeededError, and nil otherwise. If apt cannot simulate a
// change, the real attempt gives a better error.
func refused(err error) error {
	if needed := (*NeededError)(nil); errors.As(err, &needed) {
		return err
	}
	return nil
}

// both merges the further changes of a transaction with the dependencies that apt was
// requested to remove.
func both(also, along map[string]string) map[string]string {
	if len(along) == 0 {
		return also
	}
	out := maps.Clone(along)
	maps.Copy(out, also)
	return out
}

// Changes are the changes for apt that moves require, without dependencies.
func Changes(moves []*verb.GroupMove) []host.PackageChange { return changesFor(moves) }

func changesFor(moves []*verb.GroupMove) []host.PackageChange {
	var out []host.PackageChange
	for _, m := range moves {
		out = append(out, changeFor(m)...)
	}
	return out
}

// changeFor says what apt must be told for one move; nothing when the package
// is already in sync.
func changeFor(m *verb.GroupMove) []host.PackageChange {
	from, to := *m.From.Package(), *m.To.Package()
	if m.InSync {
		return []host.PackageChange{{Name: m.Step.Args[0], Version: to.Version, Absent: to.Version == ""}}
	}
	c := host.PackageChange{Name: m.Step.Args[0]}
	switch {
	case to.Version == "":
		c.Absent = true
		c.Purge = to.Purged
	case to.Version != image.Candidate:
		c.Version = to.Version
	}
	if _, says := m.Step.Lookup("held"); from.Held && (says || m.Hold || to.Version != "" && !to.Held) || to.Version != "" && from.Held != to.Held {
		c.Held = &to.Held // and so a hold of ours does not keep us out
	}
	if from.Version == "" && to.Version != "" || from.Auto != to.Auto {
		c.Auto = &to.Auto
	}
	if m.From.Same(m.To) && c.Auto == nil {
		return nil
	}
	return []host.PackageChange{c}
}

// Irreversible implements verb.Reversible: an older version can be put back
// only while its .deb can be had.
func (Pkg) Irreversible(_ step.Step, from, to image.Image) string {
	f, t := from.Package(), to.Package()
	if f == nil || t == nil || f.Version == "" || f.Version == t.Version || f.DebStored {
		return ""
	}
	return fmt.Sprintf("the .deb of version %s is not available, so this version cannot be restored", f.Version)
}
