package apt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/host"
)

// Change implements host.Packages. It does not install recommended packages. After a failure, also
// has the changes until then.
func (p *packages) Change(ctx context.Context, changes []host.PackageChange,
	progress func(host.Progress)) (map[string]string, error) {
	if progress == nil {
		progress = func(host.Progress) {}
	}
	if err := checkNames(changes); err != nil {
		return nil, err
	}
	if err := p.WaitLock(ctx, progress); err != nil {
		return nil, err
	}
	before, err := p.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.refuseHeld(before, changes); err != nil {
		return nil, err
	}
	unitFiles := servedUnits{p}.unitFiles(changes)
	err = p.transaction(ctx, progress, before, changes)
	if err != nil { // dpkg may outlive an apt that was killed
		err = errors.Join(err, p.WaitLock(ctx, progress))
	}
	after, readErr := p.inventory(context.WithoutCancel(ctx))
	if readErr != nil {
		return nil, firstError(err, readErr)
	}
	if err != nil {
		err = errors.Join(err, p.unmark(context.WithoutCancel(ctx), before, after))
	}
	servedUnits{p}.endUnits(context.WithoutCancel(ctx), unitFiles)
	also := difference(before, after, changes)
	if err == nil {
		err = p.mark(ctx, before, after, changes)
	}
	if err == nil {
		err = arrived(after, changes)
	}
	return also, err
}

// transaction releases holds that the changes own, runs apt once, and purges the remains of removed
// packages.
func (p *packages) transaction(ctx context.Context, progress func(host.Progress), inv inventory,
	changes []host.PackageChange) error {
	if held := ownHolds(inv, changes); len(held) > 0 {
		if err := p.tool(ctx, append([]string{"apt-mark", "unhold"}, held...)); err != nil {
			return fmt.Errorf("cannot release held packages: %w", err)
		}
	}
	if err := p.stay(ctx, inv, changes); err != nil {
		return err
	}
	if words := p.words(inv, changes); len(words) > 0 {
		argv := append(p.aptGet(inv, changes), words...)
		if err := p.apt(ctx, progress, inv, argv); err != nil {
			return err
		}
	}
	return p.purge(ctx, progress, inv, changes)
}

// aptGet returns the command line without the packages. It never purges removed packages, because
// that would also purge packages that are removed as a consequence.
func (p *packages) aptGet(inv inventory, changes []host.PackageChange) []string {
	argv := append([]string{"apt-get", "install"}, aptOptions()...)
	for _, c := range changes {
		have := inv.version(c.Name)
		if !c.Absent && c.Version != "" && have != "" && debver.Compare(c.Version, have) < 0 {
			return append(argv, "--allow-downgrades")
		}
	}
	return argv
}

// Command returns the command that a user would type for the changes.
func (p *packages) Command(ctx context.Context, changes []host.PackageChange) string {
	inv, err := p.inventory(ctx)
	if err != nil || checkNames(changes) != nil {
		return ""
	}
	words := p.words(inv, changes)
	if len(words) == 0 {
		return ""
	}
	return strings.Join(append([]string{"apt-get", "install", "--allow-downgrades"}, words...), " ")
}

// words returns the packages of one apt-get install: NAME=VERSION, the path of a kept package,
// NAME, or NAME- for removal. Packages that are in sync are omitted, unless dpkg left a package
// half done, for which apt would move them.
func (p *packages) words(inv inventory, changes []host.PackageChange) []string {
	var out []string
	torn := len(halfDone(inv)) > 0
	for _, c := range changes {
		have := inv.packages[inv.key(c.Name)]
		switch {
		case c.Absent && have.Version == "" && status2(have) != 'H':
		case c.Absent:
			out = append(out, c.Name+"-")
		case c.Version == "":
			out = append(out, c.Name)
		case c.Version == have.Version && status2(have) == 'i' && !have.broken && !torn:
		case c.Version == have.Version && status2(have) == 'i' && !have.broken:
			out = append(out, c.Name+"="+c.Version)
		default:
			out = append(out, p.source(inv.arch, c.Name, c.Version))
		}
	}
	return out
}

// purge removes the configuration of packages that the changes purge.
func (p *packages) purge(ctx context.Context, progress func(host.Progress), before inventory,
	changes []host.PackageChange) error {
	if !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent && c.Purge }) {
		return nil
	}
	now, err := p.inventory(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range changes {
		if c.Absent && c.Purge && status2(now.packages[now.key(c.Name)]) == 'c' {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return p.apt(ctx, progress, before, append([]string{"dpkg", "--purge"}, names...))
}

// arrived checks the result by dpkg's state, not by apt's output.
func arrived(after inventory, changes []host.PackageChange) error {
	for _, c := range changes {
		have := after.packages[after.key(c.Name)]
		switch {
		case c.Absent && have.Version != "":
			return &host.PackagesError{Names: []string{c.Name},
				Err: fmt.Errorf("cannot remove package %s: version %s is still installed, although apt reported success", c.Name,
					have.Version)}
		case !c.Absent && (have.Version == "" || c.Version != "" && have.Version != c.Version):
			return &host.PackagesError{Names: []string{c.Name},
				Err: fmt.Errorf("cannot install package %s: apt reported success, but the version is %q instead of %q", c.Name,
					have.Version, c.Version)}
		}
	}
	return nil
}

// difference returns the additional changes: name to previous version.
func difference(before, after inventory, changes []host.PackageChange) map[string]string {
	asked := map[string]bool{}
	for _, c := range changes {
		asked[before.key(c.Name)] = true
	}
	also := map[string]string{}
	for name, a := range after.packages {
		if b := before.packages[name]; !asked[name] && a.Version != b.Version {
			also[name] = b.Version
		}
	}
	for name, b := range before.packages {
		if _, still := after.packages[name]; !still && !asked[name] && b.Version != "" {
			also[name] = b.Version
		}
	}
	return also
}
