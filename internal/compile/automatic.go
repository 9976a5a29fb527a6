package compile

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// implied adds dependencies that follow from the steps: a file needs its directory, its owner, and the
// package that contains its directory.
type implied struct{ *builder }

// automatic adds the implicit order. It uses only steps, so that it holds for every kind.
func (b implied) automatic() {
	guesses := newGuesses(b.builder)
	n := len(b.items)
	for i := range n {
		it := b.items[i]
		if it.virtual || it.act != nil {
			continue
		}
		b.paths(i, it.step)
		b.accounts(i, it.step)
		b.uses(i, it.step)
	}
	guesses.link(n)
}

// find returns the item that writes an address.
func (b implied) find(k addr.Kind, name string) (int, bool) {
	i, ok := b.addrs[addr.New(k, name)]
	return i, ok
}

// pair orders a step after a step that it depends on. If both steps remove something, the order is
// reversed.
func (b implied) pair(base, user int, s catalog.Strength, why string) {
	x, y := b.items[base].step.Absent(), b.items[user].step.Absent()
	switch {
	case base == user || x && !y:
	case x && y:
		b.auto(user, base, s, why)
	default:
		b.auto(base, user, s, why)
	}
}

// paths orders a path after the nearest declared parent directory, and regions and metadata after
// the file itself.
func (b implied) paths(i int, s step.Step) {
	p := s.Path()
	if p == "" {
		return
	}
	if f, ok := b.find(addr.KindFile, p); ok && f != i {
		b.pair(f, i, catalog.Hard, "the file itself")
		if b.items[f].step.Absent() && !s.Absent() {
			b.contradiction(i, f)
		}
		return
	}
	for dir := path.Dir(p); dir != "/" && dir != "."; dir = path.Dir(dir) {
		d, ok := b.find(addr.KindFile, dir)
		if !ok {
			continue
		}
		b.pair(d, i, catalog.Hard, "its directory")
		if b.items[d].step.Absent() && !s.Absent() {
			b.contradiction(i, d)
		}
		return
	}
}

func (b implied) contradiction(i, gone int) {
	node, other := b.c.Nodes[b.items[i].node], b.c.Nodes[b.items[gone].node]
	d := diag.Errorf(used(node), "Path below an absent one",
		"%s writes %s, but %s (at %s) makes %s absent. Remove one of the two states.",
		node.ID, b.items[i].step.Path(), other.ID, used(other), b.items[gone].step.Path())
	d.Trace = slices.Concat(within(node), []diag.Range{used(other)}, within(other))
	b.ds = append(b.ds, d)
}

// accounts orders steps after the users and groups that they name.
func (b implied) accounts(i int, s step.Step) {
	user := func(name, why string) {
		if u, ok := b.find(addr.KindUser, name); ok {
			b.pair(u, i, catalog.Hard, why)
		}
	}
	group := func(name, why string) {
		if g, ok := b.find(addr.KindGroup, name); ok {
			b.pair(g, i, catalog.Hard, why)
		} else if u, ok := b.find(addr.KindUser, name); ok { // useradd creates a group with the same name
			b.pair(u, i, catalog.Hard, why)
		}
	}
	switch s.Verb {
	case step.Mkdir, step.Copy, step.Link, step.Meta:
		user(s.Get("owner"), "its owner")
		group(s.Get("group"), "its group")
	case step.Exec:
		user(s.Get("user"), "the user it runs as")
	case step.Member:
		user(s.Args[0], "the member")
		group(s.Args[1], "the group")
	case step.User:
		b.user(i, s, group)
	}
}

// user orders an account after its group and after the directory of its home.
func (b implied) user(i int, s step.Step, group func(name, why string)) {
	primary := s.Get("group")
	if primary == "" {
		primary = s.Args[0]
	}
	group(primary, "its group")
	home := s.Get("home")
	if home == "" || s.Absent() {
		return
	}
	for dir := path.Dir(home); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if d, ok := b.find(addr.KindFile, dir); ok {
			b.pair(d, i, catalog.Likely, "the parent of its home directory")
			return
		}
	}
}

// uses orders commands and links after the files that they name.
func (b implied) uses(i int, s step.Step) {
	for _, named := range s.NamedFiles() {
		if f, ok := b.find(addr.KindFile, named.Path); ok && !b.items[f].step.Absent() && f != i {
			b.auto(f, i, catalog.Likely, named.Why)
		}
	}
	if s.Verb == step.Unit {
		b.unitFiles(i, s.Args[0])
	}
}

// unitFiles orders a unit after the files that define it.
func (b implied) unitFiles(i int, name string) {
	names := []string{name}
	if at := strings.Index(name, "@"); at >= 0 {
		names = append(names, name[:at+1]+path.Ext(name))
	}
	if ext := path.Ext(name); ext == ".timer" || ext == ".socket" || ext == ".path" {
		names = append(names, strings.TrimSuffix(name, ext)+".service")
	}
	for _, dir := range []string{"/etc", "/lib", "/usr/lib", "/run", "/usr/local/lib"} {
		for _, n := range names {
			if f, ok := b.find(addr.KindFile, dir+"/systemd/system/"+n); ok {
				b.unitFile(f, i)
			}
		}
	}
}

// unitFile orders a unit after its file. A unit whose file is removed is stopped first.
func (b implied) unitFile(f, unit int) {
	if b.items[f].step.Absent() {
		b.auto(unit, f, catalog.Hard, "its unit file")
		return
	}
	b.auto(f, unit, catalog.Hard, "its unit file")
}
