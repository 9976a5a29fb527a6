// Package apt manages the packages of a Debian host with dpkg and apt. It is the part of a driver that
// implements host.Packages:
//
//	p := apt.New(h, apt.Options{WaitLock: wait, ListUnits: list, ForgetFailure: forget})
//	also, err := p.Change(ctx, changes, progress)
//
// It runs programs and reads files only through the host. A change that is interrupted leaves packages
// half configured; Repair completes them.
package apt

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

const (
	extendedStates = "/var/lib/apt/extended_states"
	defaultDebs    = "/var/lib/fettle/debs"
	// queryFormat prints one line for each package: name, architecture, want and status letters,
	// version.
	queryFormat = "${Package}\t${Architecture}\t${db:Status-Abbrev}\t${Version}\n"
)

// Unit is a loaded unit, with its states as in systemctl(1).
type Unit struct{ Name, Active, Sub string }

// Options connect the packages of a host with its driver.
type Options struct {
	// Debs is the directory for packages that an undo needs; /var/lib/fettle/debs if it is empty.
	Debs string
	// WaitLock waits until the locks of dpkg and apt are free, and reports their holder through
	// progress. It takes no lock: apt takes it, and also waits if another process was first.
	WaitLock func(ctx context.Context, progress func(host.Progress)) error
	// ListUnits returns the loaded units whose names match patterns.
	ListUnits func(ctx context.Context, patterns []string) ([]Unit, error)
	// ForgetFailure clears the failed state of a unit.
	ForgetFailure func(ctx context.Context, unit string)
}

// New returns the packages of a host with dpkg. The fields of o except Debs must be set.
func New(h host.Host, o Options) host.Packages {
	if o.Debs == "" {
		o.Debs = defaultDebs
	}
	return &packages{h: h, Options: o}
}

// packages is apt and dpkg of the host.
type packages struct {
	Options
	h     host.Host
	notes []string // of the last change or repair
}

// Wait implements host.Packages.
func (p *packages) Wait(ctx context.Context, progress func(host.Progress)) error {
	return p.WaitLock(ctx, progress)
}

// inventory is everything that dpkg knows, by package name; packages of
// another than the host's own architecture are name:arch.
type inventory struct {
	arch     string // the host's own
	packages map[string]installed
}

type installed struct {
	image.Package
	arch string
	// broken is dpkg's mark that the package must be installed again.
	broken bool
}

// key is the name under which an inventory has a package: without the host's
// own architecture.
func (inv inventory) key(name string) string { return strings.TrimSuffix(name, ":"+inv.arch) }

// version is the installed version of a package, "" when there is none.
func (inv inventory) version(name string) string { return inv.packages[inv.key(name)].Version }

// Installed implements host.Packages.
func (p *packages) Installed(ctx context.Context, names []string) (map[string]image.Package, error) {
	inv, err := p.inventory(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]image.Package, len(names))
	for _, n := range names {
		out[n] = inv.packages[inv.key(n)].Package
	}
	return out, nil
}

// inventory reads all packages with one dpkg-query. A query for single names would fail for names
// unknown to dpkg.
func (p *packages) inventory(ctx context.Context) (inventory, error) {
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"dpkg-query", "-W", "-f", queryFormat}, Timeout: time.Minute})
	if err == nil && r.ExitCode != 0 && len(r.Stdout) > 0 {
		err = errors.New(firstLine(r.Stderr))
	}
	if err != nil {
		return inventory{}, fmt.Errorf("cannot read the installed packages: %w", err)
	}
	inv := parseInventory(r.Stdout)
	auto, err := p.autoInstalled(inv)
	if err != nil {
		return inventory{}, err
	}
	for name := range auto {
		if i, ok := inv.packages[name]; ok && i.Version != "" {
			i.Auto = true
			inv.packages[name] = i
		}
	}
	return inv, nil
}

// parseInventory reads lines of queryFormat. The host's own architecture is
// the one of dpkg itself.
func parseInventory(out []byte) inventory {
	inv := inventory{packages: map[string]installed{}}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || len(f[2]) < 2 {
			continue
		}
		rows = append(rows, f)
		if f[0] == "dpkg" {
			inv.arch = f[1]
		}
	}
	for _, f := range rows {
		name := f[0]
		if f[1] != inv.arch && f[1] != "all" && f[1] != "" && inv.arch != "" {
			name += ":" + f[1]
		}
		inv.packages[name] = installed{
			Package: image.Package{Version: presentVersion(f[2], f[3]), Status: f[2][:2], Held: f[2][0] == 'h'},
			arch:    f[1],
			broken:  len(f[2]) > 2 && f[2][2] == 'R',
		}
	}
	return inv
}

// presentVersion returns the version if the package's files are complete, from unpacked on. A
// package with only its configuration left is not installed.
func presentVersion(abbrev, version string) string {
	if strings.IndexByte("UFWti", abbrev[1]) >= 0 {
		return version
	}
	return ""
}

// autoInstalled reads apt's marks: the names that were installed only as dependencies.
func (p *packages) autoInstalled(inv inventory) (map[string]bool, error) {
	f, err := p.h.Open(extendedStates)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which packages are dependencies: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read which packages are dependencies: %w", err)
	}
	return parseAuto(text, inv), nil
}

func parseAuto(text []byte, inv inventory) map[string]bool {
	out := map[string]bool{}
	var name, arch, auto string
	flush := func() {
		key := inv.key(name + ":" + arch)
		if i, ok := inv.packages[name]; ok && i.arch == "all" {
			key = name
		}
		if auto == "1" {
			out[key] = true
		}
		name, arch, auto = "", "", ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch {
		case !ok:
			flush()
		case key == "Package":
			name = value
		case key == "Architecture":
			arch = value
		case key == "Auto-Installed":
			auto = value
		}
	}
	flush()
	return out
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// status2 returns the second letter of dpkg's status, n for unknown.
func status2(i installed) byte {
	if len(i.Status) < 2 {
		return 'n'
	}
	return i.Status[1]
}
