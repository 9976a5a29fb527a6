package listgraph

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/step"
)

// requirement is an earlier step that an item requires.
type requirement struct {
	from  int
	why   string
	style graph.Style
}

// finder finds the requirements of items.
type finder struct {
	items []item
	at    map[addr.Addr][]int
	needs [][]requirement // by item
}

// requirements returns the requirements of each item, without duplicates. A requirement between two steps belongs to
// the later step of the list: a directory that is removed requires the removal of its files.
func requirements(items []item) [][]requirement {
	f := &finder{items: items, at: map[addr.Addr][]int{}, needs: make([][]requirement, len(items))}
	for i, it := range items {
		f.at[it.addr] = append(f.at[it.addr], i)
	}
	for i := range items {
		f.find(i)
	}
	f.declared()
	return f.needs
}

// find adds all requirements of an item.
func (f *finder) find(i int) {
	s, a := f.items[i].step, f.items[i].addr
	if before := f.at[a]; before[0] < i && s.Verb != step.Act {
		f.add(i, a, "the previous phase", graph.Solid)
	}
	f.paths(i)
	f.accounts(i, s)
	f.uses(i, s)
	for _, c := range f.items[i].cause {
		f.add(i, c, "notifies it", graph.Dashed)
	}
	for _, c := range s.All("on") {
		f.add(i, addr.Addr(c), "notifies it", graph.Dashed)
	}
	for _, c := range s.All("on_failure") {
		f.add(i, addr.Addr(c), "its failure", graph.Dotted)
	}
	if s.Verb == step.Wait && i > 0 {
		f.join(i-1, i, "the step before it", graph.Solid)
	}
	if i > 0 && f.items[i-1].step.Verb == step.Wait {
		f.join(i-1, i, "the run waits there", graph.Solid)
	}
}

// declared adds the order of states that the source declares: from the last earlier step of the earlier state to the
// first step of the later state. This order does not count for actions.
func (f *finder) declared() {
	steps := map[string][]int{} // by state
	for i := range f.items {
		it := &f.items[i]
		if it.addr.Kind() == addr.KindAct {
			continue
		}
		for _, st := range it.states {
			steps[st] = append(steps[st], i)
		}
	}
	for i := range f.items {
		it := &f.items[i]
		for _, st := range it.states {
			if all := steps[st]; len(all) == 0 || all[0] != i {
				continue
			}
			for _, earlier := range it.after {
				all := steps[earlier]
				if k, _ := slices.BinarySearch(all, i); k > 0 {
					f.join(all[k-1], i, "the source orders it", graph.Solid)
				}
			}
		}
	}
}

// add joins an item with the last earlier item of an address, otherwise with the first later one.
func (f *finder) add(i int, a addr.Addr, why string, style graph.Style) bool {
	all := f.at[a]
	if len(all) == 0 || len(all) == 1 && all[0] == i {
		return false
	}
	k, _ := slices.BinarySearch(all, i)
	switch {
	case k > 0:
		f.join(all[k-1], i, why, style)
	case all[k] == i:
		f.join(i, all[k+1], why, style)
	default:
		f.join(i, all[k], why, style)
	}
	return true
}

// join adds a requirement, unless one between the same steps is known.
func (f *finder) join(from, to int, why string, style graph.Style) {
	known := func(r requirement) bool { return r.from == from }
	if !slices.ContainsFunc(f.needs[to], known) {
		f.needs[to] = append(f.needs[to], requirement{from, why, style})
	}
}

// paths adds the file of a region or of metadata, otherwise the nearest directory of a path.
func (f *finder) paths(i int) {
	p := f.items[i].addr.Path()
	if s := f.items[i].step; s.Path() != "" {
		p = s.Path()
	}
	if !path.IsAbs(p) {
		return
	}
	if a := addr.File(p); f.items[i].addr != a && f.add(i, a, "the file itself", graph.Solid) {
		return
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if f.add(i, addr.File(dir), "its directory", graph.Solid) {
			return
		}
		if path.Dir(dir) == "/etc" && f.add(i, addr.New(addr.KindPkg, path.Base(dir)), "the package", graph.Solid) {
			return
		}
	}
}

// accounts adds the users and groups that a step names.
func (f *finder) accounts(i int, s step.Step) {
	user := func(name, why string) bool {
		return name != "" && f.add(i, addr.New(addr.KindUser, name), why, graph.Solid)
	}
	group := func(name, why string) bool {
		return name != "" && f.add(i, addr.New(addr.KindGroup, name), why, graph.Solid)
	}
	switch s.Verb {
	case step.Mkdir, step.Copy, step.Link, step.Meta:
		user(s.Get("owner"), "its owner")
		if !group(s.Get("group"), "its group") { // a user brings a group with the same name
			user(s.Get("group"), "its group")
		}
	case step.Exec:
		user(s.Get("user"), "the user it runs as")
	case step.Member:
		user(s.Args[0], "the member")
		group(s.Args[1], "the group")
	case step.User:
		group(s.Get("group"), "its group")
		group(s.Args[0], "its group")
	}
}

// uses adds the files and units that a step names.
func (f *finder) uses(i int, s step.Step) {
	file := func(p, why string) {
		if path.IsAbs(p) {
			f.add(i, addr.File(path.Clean(p)), why, graph.Solid)
		}
	}
	for _, named := range s.NamedFiles() {
		file(named.Path, named.Why)
	}
	switch s.Verb {
	case step.Unit:
		for _, dir := range []string{"/etc", "/usr/lib", "/lib", "/run"} {
			file(dir+"/systemd/system/"+s.Args[0], "its unit file")
		}
		f.add(i, addr.New(addr.KindPkg, strings.TrimSuffix(s.Args[0], path.Ext(s.Args[0]))), "the package", graph.Solid)
	case step.Act:
		if len(s.Args) > 1 && s.Args[0] != "run" {
			f.add(i, addr.New(addr.KindUnit, s.Args[1]), "its unit", graph.Solid)
		}
	}
}

// drawn returns the edges of a picture. A solid edge is omitted if other solid edges lead from the same step to the
// same step.
func drawn(needs [][]requirement) []graph.Edge {
	words := (len(needs) + 63) / 64
	before := make([][]uint64, len(needs)) // the steps before each step, as a set of bits
	var out []graph.Edge
	for i, all := range needs {
		own, through := make([]uint64, words), make([]uint64, words)
		for _, r := range all {
			if r.style == graph.Solid && len(needs) <= 4*MaxSteps { // the sets of a longer list are too large
				merge(through, before[r.from])
				own[r.from/64] |= 1 << (r.from % 64)
			}
		}
		for _, r := range all {
			if r.style != graph.Solid || through[r.from/64]&(1<<(r.from%64)) == 0 {
				out = append(out, graph.Edge{From: r.from, To: i, Style: r.style})
			}
		}
		merge(own, through)
		before[i] = own
	}
	return out
}

func merge(set, other []uint64) {
	for i, bits := range other {
		set[i] |= bits
	}
}
