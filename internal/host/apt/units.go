package apt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// leftLimit is the time limit for stopping one remaining unit of a removed package.
const leftLimit = 2 * time.Minute

// servedUnits ends units whose files a change of packages removed.
type servedUnits struct{ *packages }

// unitFiles are the names of the unit files of packages, nothing if no change removes a package
// or the host has no systemd.
func (p servedUnits) unitFiles(changes []host.PackageChange) map[string]bool {
	if !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent }) {
		return nil
	}
	if _, err := p.h.Units(); err != nil {
		return nil
	}
	return p.unitFilesNow()
}

func (p servedUnits) unitFilesNow() map[string]bool {
	out := map[string]bool{}
	for _, dir := range []string{"/usr/lib/systemd/system", "/lib/systemd/system"} {
		names, err := p.h.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			out[name] = true
		}
	}
	return out
}

// endUnits stops units that still run although their unit files are gone since before, and
// clears failures of such units. Most packages do so when they are removed, and some do not.
// A unit that cannot be stopped is a note: the package is removed nevertheless.
func (p servedUnits) endUnits(ctx context.Context, before map[string]bool) {
	maps.DeleteFunc(before, func(name string, _ bool) bool { return p.unitFileElsewhere(name) })
	if len(before) == 0 {
		return
	}
	now := p.unitFilesNow()
	maps.DeleteFunc(before, func(name string, _ bool) bool { return now[name] })
	for _, u := range p.leftUnits(ctx, slices.Sorted(maps.Keys(before))) {
		p.endUnit(ctx, u)
	}
}

// unitFileElsewhere reports whether the administrator, or a generator, has a unit file of this
// name. deb-systemd-helper masks units of removed packages with a link, which does not count.
func (p servedUnits) unitFileElsewhere(name string) bool {
	for _, dir := range []string{"/etc/systemd/system", "/run/systemd/system"} {
		if st, err := p.h.Lstat(path.Join(dir, name)); err == nil && st.Type == image.Regular {
			return true
		}
	}
	return false
}

// leftUnits are the units of these unit files that systemd still has, those first that can
// start others.
func (p servedUnits) leftUnits(ctx context.Context, files []string) []Unit {
	if len(files) == 0 {
		return nil
	}
	patterns := make([]string, len(files))
	for i, name := range files {
		patterns[i] = strings.Replace(name, "@.", "@*.", 1)
	}
	units, err := p.ListUnits(ctx, patterns)
	if err != nil {
		return nil
	}
	units = slices.DeleteFunc(units, func(u Unit) bool { return u.Active != "failed" && !leftRunning(u) })
	slices.SortFunc(units, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(serviceLast(a.Name), serviceLast(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return units
}

func serviceLast(name string) int {
	if path.Ext(name) == ".service" {
		return 1
	}
	return 0
}

// leftRunning reports whether a unit has processes, or waits to start something. Stopping a service
// that has finished its work would revert that work, such as a configured network.
func leftRunning(u Unit) bool {
	if u.Active != "active" && u.Active != "activating" && u.Active != "reloading" {
		return false
	}
	switch path.Ext(u.Name) {
	case ".service":
		return u.Sub != "exited"
	case ".socket", ".timer", ".path":
		return true
	}
	return false
}

func (p servedUnits) endUnit(ctx context.Context, u Unit) {
	if u.Active == "failed" {
		p.ForgetFailure(ctx, u.Name)
		return
	}
	if p.runsIn(u.Name) {
		p.notes = append(p.notes,
			fmt.Sprintf("%s is still running, because fettle is a part of it; a removed package contained its unit file",
				u.Name))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leftLimit)
	defer cancel()
	if err := p.stop(ctx, u.Name); err != nil {
		p.notes = append(p.notes, fmt.Sprintf(
			"%s is still running, although a removed package contained its unit file; to stop it: systemctl stop %s: %v",
			u.Name, u.Name, err))
		return
	}
	p.notes = append(p.notes, fmt.Sprintf("stopped %s: a removed package contained its unit file and did not stop it",
		u.Name))
}

func (p servedUnits) stop(ctx context.Context, unit string) error {
	units, err := p.h.Units()
	if err != nil {
		return err
	}
	return units.Job(ctx, "stop", unit)
}

// runsIn reports whether this process belongs to a unit.
func (p servedUnits) runsIn(unit string) bool {
	b, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && strings.Contains(string(b)+"\n", "/"+unit+"\n")
}
