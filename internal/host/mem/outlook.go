package mem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Outlook implements host.Packages.
func (p *Packages) Outlook(_ context.Context, changes []host.PackageChange,
	keep []string) (host.PackageOutlook, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var o host.PackageOutlook
	next, err := p.solve(changes)
	if err != nil && !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return !c.Absent }) {
		next, err = p.othersUnheld(changes).solve(changes)
	}
	if err != nil {
		return o, err
	}
	also := p.also(next, changes)
	for _, name := range slices.Sorted(maps.Keys(also)) {
		if next[name].Version == "" {
			o.Removes = append(o.Removes, name)
		} else {
			o.Installs = append(o.Installs, name)
		}
	}
	if slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Absent }) {
		o.Unneeded = p.unneeded(next, keep)
	}
	return o, nil
}

// othersUnheld is p without the holds of packages that the changes do not name.
func (p *Packages) othersUnheld(changes []host.PackageChange) *Packages {
	state := maps.Clone(p.state)
	for name, one := range state {
		if !slices.ContainsFunc(changes, func(c host.PackageChange) bool { return c.Name == name }) {
			one.Held = false
			state[name] = one
		}
	}
	return &Packages{releases: p.releases, state: state}
}

// unneeded are the packages of a state that autoremove would remove.
func (p *Packages) unneeded(state map[string]image.Package, keep []string) []string {
	needed := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		if needed[name] || state[name].Version == "" {
			return
		}
		needed[name] = true
		for _, d := range p.leans(name, state[name].Version) {
			reach(d)
		}
	}
	for name, one := range state {
		if !one.Auto || one.Held || slices.Contains(keep, name) {
			reach(name)
		}
	}
	var out []string
	for name, one := range state {
		if one.Version != "" && !needed[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// leans are the packages that a version depends on or recommends.
func (p *Packages) leans(name, version string) []string {
	r, _ := p.find(name, version)
	out := slices.Clone(r.Recommends)
	for _, d := range r.Depends {
		dep, _ := needs(d)
		out = append(out, dep)
	}
	return out
}

// NeededBy implements host.Packages.
func (p *Packages) NeededBy(_ context.Context, names []string) (map[string][]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string][]string{}
	for _, by := range slices.Sorted(maps.Keys(p.state)) {
		for _, name := range names {
			if v := p.state[by].Version; v != "" && slices.Contains(p.leans(by, v), name) {
				out[name] = append(out[name], by)
			}
		}
	}
	return out, nil
}

// Offers implements host.Packages, without sizes.
func (p *Packages) Offers(ctx context.Context, changes []host.PackageChange) (host.PackageOffers, error) {
	o := host.PackageOffers{By: map[string]host.PackageOffer{}, Download: -1}
	p.mu.Lock()
	o.NoLists = len(p.releases) == 0
	for _, c := range changes {
		r, ok := p.find(c.Name, c.Version)
		offer := host.PackageOffer{Version: r.Version}
		if !ok {
			offer.Unknown = strings.TrimSpace(fmt.Sprintf("apt knows no package %q %s", c.Name, c.Version))
		}
		o.By[c.Name] = offer
	}
	p.mu.Unlock()
	for _, offer := range o.By {
		if offer.Unknown != "" {
			return o, nil
		}
	}
	all, err := p.Outlook(ctx, changes, nil)
	if err != nil {
		o.Failure = err.Error()
	}
	o.Additional, o.Removes = all.Installs, all.Removes
	return o, nil
}
