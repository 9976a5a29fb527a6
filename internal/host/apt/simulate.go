package apt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// Simulate implements host.Packages.
func (p *packages) Simulate(ctx context.Context, changes []host.PackageChange) (map[string]string, error) {
	inv, out, err := p.simulate(ctx, changes, nil)
	if err != nil {
		return nil, err
	}
	return simulated(inv, out, changes), nil
}

// Outlook implements host.Packages. apt-get does not distinguish unneeded packages from conflicting
// ones among its removals, so Outlook calls it twice.
func (p *packages) Outlook(ctx context.Context, changes []host.PackageChange,
	keep []string) (host.PackageOutlook, error) {
	var o host.PackageOutlook
	inv, out, err := p.simulate(ctx, changes, nil)
	var options []string
	if err != nil && !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return !c.Absent }) {
		options = []string{"-o", "APT::Ignore-Hold=true", "--allow-change-held-packages"}
		inv, out, err = p.simulate(ctx, changes, options)
	}
	if err != nil {
		return o, err
	}
	o.Installs, o.Removes = comeAndLeave(inv, out, changes)
	if !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent }) {
		return o, nil
	}
	options = append(options, "-o", "APT::Get::AutomaticRemove=true")
	for _, name := range keep {
		if v := inv.version(name); v != "" {
			options = append(options, name+"="+v)
		}
	}
	_, out, err = p.simulate(ctx, changes, options)
	if err != nil {
		return o, err
	}
	_, all := comeAndLeave(inv, out, changes)
	o.Unneeded = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(o.Removes, name) })
	return o, nil
}

// simulate runs apt-get -s with more words. The output is empty where there is
// nothing to do.
func (p *packages) simulate(ctx context.Context, changes []host.PackageChange,
	more []string) (inventory, []byte, error) {
	if err := checkNames(changes); err != nil {
		return inventory{}, nil, err
	}
	inv, err := p.inventory(ctx)
	if err != nil {
		return inv, nil, err
	}
	if err := p.refuseHeld(inv, changes); err != nil {
		return inv, nil, err
	}
	words := p.words(inv, changes)
	if len(words) == 0 {
		return inv, nil, nil
	}
	argv := append(append(p.aptGet(inv, changes), "--simulate"), more...)
	if len(ownHolds(inv, changes)) > 0 {
		argv = append(argv, "--allow-change-held-packages")
	}
	r, err := p.h.Run(ctx, host.Command{Argv: append(argv, words...), Env: aptEnv(), Timeout: 5 * time.Minute})
	if err != nil {
		return inv, nil, fmt.Errorf("cannot simulate packages: %w", err)
	}
	if r.ExitCode != 0 {
		return inv, nil, p.aptError(ctx, inv, r)
	}
	return inv, r.Stdout, nil
}

// simulated reads the lines that apt-get -s writes for programs: Inst, Remv
// and Purg with a name and, in brackets, the version that is installed.
func simulated(inv inventory, out []byte, changes []host.PackageChange) map[string]string {
	comes, leaves := comeAndLeave(inv, out, changes)
	also := map[string]string{}
	for _, name := range slices.Concat(comes, leaves) {
		also[name] = inv.version(name)
	}
	return also
}

// comeAndLeave returns the packages that are installed although no change names them, and the
// packages that are removed although no change removes them. A change can name a package only to
// keep or mark it.
func comeAndLeave(inv inventory, out []byte, changes []host.PackageChange) (comes, leaves []string) {
	asked, absent := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		asked[inv.key(c.Name)] = true
		absent[inv.key(c.Name)] = c.Absent
	}
	in, gone := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch name := inv.key(f[1]); {
		case f[0] == "Inst" && !asked[name]:
			in[name] = true
		case (f[0] == "Remv" || f[0] == "Purg") && !absent[name]:
			gone[name] = true
		}
	}
	return slices.Sorted(maps.Keys(in)), slices.Sorted(maps.Keys(gone))
}

// NeededBy implements host.Packages.
func (p *packages) NeededBy(ctx context.Context, names []string) (map[string][]string, error) {
	var changes []host.PackageChange
	for _, n := range names {
		changes = append(changes, host.PackageChange{Name: n})
	}
	if err := checkNames(changes); err != nil || len(names) == 0 {
		return nil, err
	}
	argv := []string{"apt-cache", "rdepends", "--installed", "--no-conflicts", "--no-breaks", "--no-replaces",
		"--no-enhances"}
	r, err := p.h.Run(ctx, host.Command{Argv: append(argv, names...), Timeout: time.Minute})
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages that depend on others: %w", err)
	}
	return reverseDepends(string(r.Stdout)), nil
}

// reverseDepends reads the output of apt-cache rdepends: a name, a heading, and indented names,
// with a bar before alternatives.
func reverseDepends(out string) map[string][]string {
	all, name := map[string][]string{}, ""
	for line := range strings.Lines(out) {
		by := strings.TrimLeft(strings.TrimSpace(line), "|")
		if !strings.HasPrefix(line, " ") {
			if !strings.HasSuffix(by, ":") {
				name = by
			}
			continue
		}
		if !slices.Contains(all[name], by) {
			all[name] = append(all[name], by)
		}
	}
	for _, by := range all {
		slices.Sort(by)
	}
	return all
}
