package mem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// needs takes "NAME" or "NAME (= VERSION)" apart.
func needs(d string) (name, version string) {
	name, version, _ = strings.Cut(d, " (= ")
	return name, strings.TrimSuffix(version, ")")
}

// unmet returns a dependency of a release that a state does not satisfy, "" if there is none.
func unmet(r Release, state map[string]image.Package) string {
	for _, d := range r.Depends {
		name, exact := needs(d)
		if there := state[name].Version; there == "" || exact != "" && there != exact {
			return d
		}
	}
	return ""
}

// whole checks that versions are compatible; otherwise no transaction is possible. It also
// configures unconfigured packages.
func (p *Packages) whole(next map[string]image.Package) error {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		one := next[name]
		if one.Unfinished() && one.Version == "" {
			return &host.PackagesError{Names: []string{name},
				Err: fmt.Errorf("cannot change packages: the package %s needs to be reinstalled", name)}
		}
		if one.Version == "" {
			continue
		}
		if r, ok := p.find(name, one.Version); ok {
			if d := unmet(r, next); d != "" {
				return &host.PackagesError{Names: []string{name},
					Err: fmt.Errorf("cannot change packages: %s: Depends: %s", name, d)}
			}
		}
		if one.Unfinished() {
			one.Status = "ii"
			next[name] = one
		}
	}
	return nil
}

// unpack removes packages and unpacks new ones. A package is half installed during its change, and
// unpacked until all packages are.
func (p *Packages) unpack(next map[string]image.Package, progress func(host.Progress)) error {
	for _, gone := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(next)) {
			was, to := p.state[name], next[name]
			_, torn := p.torn[name]
			if (to.Version == "") != gone || was.Version == to.Version && !torn {
				continue
			}
			if err := p.replace(name, was, to, progress); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if to := next[name]; p.state[name].Rest() && to.Version == "" && to.Status == "" {
			if err := errors.Join(p.point("dpkg"), p.purge(name)); err != nil {
				return err
			}
		}
	}
	return p.point("dpkg")
}

// replace puts a version, or nothing, in the place of another.
func (p *Packages) replace(name string, was, to image.Package, progress func(host.Progress)) error {
	half := was
	half.Version, half.Status = "", "iH"
	if to.Version == "" {
		half.Status = "rH"
	}
	if _, torn := p.torn[name]; !torn {
		p.torn[name] = was.Version
	}
	p.state[name] = half
	if err := p.move(name, was.Version, to.Version, progress); err != nil {
		return err
	}
	delete(p.torn, name)
	if half.Version, half.Status = to.Version, "iU"; to.Version == "" {
		half = p.removed(name, was, false) // a purge follows all removals
	}
	p.state[name] = half
	return nil
}

// point is a moment at which a transaction can be interrupted. The lock is free then, because the
// counter can make a clone.
func (p *Packages) point(program string) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return p.op(host.OpRun, program)
}

// Audit implements host.Packages.
func (p *Packages) Audit(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != "" {
		return p.broken, nil
	}
	return p.halves(), nil
}

func (p *Packages) halves() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.state)) {
		if p.state[name].Unfinished() {
			out = append(out, name+" is "+p.state[name].Condition())
		}
	}
	return strings.Join(out, "; ")
}

// Configure configures unpacked packages whose dependencies are installed.
func (p *Packages) Configure(context.Context, func(string)) error {
	if err := p.op(host.OpRun, "dpkg"); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.configure()
}

func (p *Packages) configure() error {
	ready := maps.Clone(p.state)
	for again := true; again; {
		again = false
		for name, one := range ready {
			r, ok := p.find(name, one.Version)
			if one.Status == "iU" && ok && unmet(r, ready) != "" {
				delete(ready, name)
				again = true
			}
		}
	}
	for name, one := range ready {
		if one.Status == "iU" {
			one.Status = "ii"
			p.state[name] = one
		}
	}
	if left := p.halves(); left != "" {
		return fmt.Errorf("cannot repair the packages: %s", left)
	}
	return nil
}

// Repair implements host.Packages. It installs half-installed packages again, with their version or
// with the candidate, and configures as many packages as possible.
func (p *Packages) Repair(_ context.Context, progress func(host.Progress)) error {
	if err := p.op(host.OpRun, "dpkg"); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = ""
	for _, name := range slices.Sorted(maps.Keys(p.torn)) {
		r, ok := p.find(name, p.torn[name])
		if !ok {
			continue
		}
		if err := p.move(name, "", r.Version, progress); err != nil {
			return err
		}
		delete(p.torn, name)
		p.state[name] = image.Package{Version: r.Version, Status: "iU", Held: p.state[name].Held, Auto: p.state[name].Auto}
	}
	return p.configure()
}
