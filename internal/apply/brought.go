package apply

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// The origin of a package entry lists in Also the packages that its installation added, such as
// dependencies. These functions update the lists when entries are added, changed and removed.

// originOfPackage removes from an origin the packages that fettle itself had installed: they did not
// exist before fettle, and the entries that installed them also remove them.
func (r *successor) originOfPackage(entries map[addr.Addr]journal.Entry, origin *image.Image) *image.Image {
	if origin.Package() == nil || len(origin.Package().AlsoChanged) == 0 {
		return origin
	}
	one := *origin.Package()
	one.AlsoChanged = maps.Clone(one.AlsoChanged)
	maps.DeleteFunc(one.AlsoChanged, func(name, was string) bool {
		return was != "" && (installedByUs(entries[addr.New(addr.KindPkg, name)]) || r.broughtByUs(entries, name))
	})
	return new(image.Of(&one))
}

// broughtSince adds to an origin the packages that a later change of the package also installed.
func broughtSince(origin *image.Image, from image.Image) *image.Image {
	if origin == nil || origin.Package() == nil || from.Package() == nil || origin.Package().Version != "" {
		return origin
	}
	fresh := map[string]string{}
	for name, was := range from.Package().AlsoChanged {
		if was == "" {
			fresh[name] = ""
		}
	}
	one := *origin.Package()
	one.AlsoChanged = earlier(one.AlsoChanged, fresh)
	return new(image.Of(&one))
}

// installedByUs reports whether the package of an entry was absent before fettle.
func installedByUs(e journal.Entry) bool {
	return e.Origin != nil && e.Origin.Package() != nil && e.Origin.Package().Version == ""
}

// broughtByUs reports whether a package was installed together with a package that fettle installed
// and that was managed before the run or is managed now.
func (r *successor) broughtByUs(entries map[addr.Addr]journal.Entry, name string) bool {
	return slices.Contains(Brought(r.base.Entries), name) ||
		slices.Contains(Brought(slices.Collect(maps.Values(entries))), name)
}

// adoptedPackage returns the origin of a package that is in sync because it was installed as a
// dependency of a package of fettle: absent. It returns nil in all other cases, also if an
// administrator marked the package as installed manually.
func (r *successor) adoptedPackage(entries map[addr.Addr]journal.Entry, i int) *image.Image {
	c, found := r.plan.Changes[i], r.effects[i].from.Package()
	if planned := c.From; planned != nil && planned.Package() != nil && planned.Package().Version != "" {
		found = planned.Package() // the run itself may have marked it
	}
	if found == nil || !found.Auto || !r.broughtByUs(entries, c.Addr.Name()) {
		return nil
	}
	return new(image.Of(&image.Package{}))
}

// Brought returns the packages that were installed together with packages of fettle, sorted.
func Brought(entries []journal.Entry) []string {
	all := map[string]bool{}
	for _, e := range entries {
		if !installedByUs(e) {
			continue
		}
		for name, was := range e.Origin.Package().AlsoChanged {
			if was == "" {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// passOn assigns dependencies without an entry to another package that fettle installed, so that a
// later removal also removes them when they are unneeded. A dependency loses its entry when the
// package that installed it is removed, also within the same transaction.
func (r *successor) passOn(entries map[addr.Addr]journal.Entry) {
	came, went := r.cameAndWent()
	here := Brought(slices.Collect(maps.Values(entries)))
	left := map[string]string{}
	for _, name := range append(came, Brought(r.base.Entries)...) {
		if !went[name] && !slices.Contains(here, name) {
			left[name] = ""
		}
	}
	if len(left) == 0 {
		return
	}
	for _, a := range slices.Sorted(maps.Keys(entries)) {
		if e := entries[a]; installedByUs(e) {
			e.Origin = broughtSince(e.Origin, image.Of(&image.Package{AlsoChanged: left}))
			entries[a] = e
			return
		}
	}
}

// cameAndWent returns the packages that were added and removed by the changes of the run that are in
// effect.
func (r *successor) cameAndWent() (came []string, went map[string]bool) {
	went = map[string]bool{}
	for i := range r.plan.Changes {
		from, s := r.effects[i].from.Package(), r.machine.Status(i)
		if from == nil || !r.effects[i].changed || s != Done && s != Failed && s != Stuck {
			continue
		}
		for name, was := range from.AlsoChanged {
			if was == "" {
				came = append(came, name)
			} else {
				went[name] = true
			}
		}
	}
	return came, went
}

// foresee adds the dependencies that a transaction will install or remove to its before-images. If the
// run is interrupted during the transaction, recovery then recognizes these packages. The before-image
// of a removed package lists the dependencies that the transaction will mark.
func (r *packages) foresee(moves []*verb.GroupMove) {
	also, marked, err := pkg.Pkg{}.Foresee(r.ctx, r.env, moves)
	if err != nil {
		return
	}
	if one := moves[0].From.Package(); one != nil && len(also) > 0 {
		with := *one
		with.AlsoChanged, with.AutoBefore = also, r.autos(also)
		moves[0].From = image.Of(&with)
	}
	goes := slices.IndexFunc(moves, func(m *verb.GroupMove) bool {
		return m.From.Package() != nil && m.From.Package().Version != "" && m.To.Package().Version == ""
	})
	if goes >= 0 && len(marked) > 0 {
		with := *moves[goes].From.Package()
		with.AutoBefore = joined(with.AutoBefore, marked)
		moves[goes].From = image.Of(&with)
	}
}

// foreseen adds the packages that an interrupted attempt had foreseen to a before-image.
func foreseen(from, found image.Image) image.Image {
	if from.Package() == nil || found.Package() == nil ||
		len(found.Package().AlsoChanged)+len(found.Package().AutoBefore) == 0 {
		return from
	}
	with := *from.Package()
	with.AlsoChanged, with.AutoBefore = earlier(found.Package().AlsoChanged, with.AlsoChanged), found.Package().AutoBefore
	return image.Of(&with)
}

// joined returns the names in either list, sorted and without duplicates.
func joined(a, b []string) []string {
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	return slices.Compact(all)
}

// autos returns the packages of a set that are marked as dependencies now, sorted.
func (r *packages) autos(of map[string]string) []string {
	p, err := r.Host.Packages()
	if err != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(of))
	now, err := p.Installed(r.ctx, names)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !now[name].Auto })
}
