package compile

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/incremental"
	"fettle.dev/fettle/internal/step"
)

// Member is the result of one target of many.
type Member struct {
	Target string
	Steps  int
	Digest string    // of the list
	List   step.List // nil if only the digest was requested
}

// Fleet makes the lists of many targets of a repository, and computes common parts once. Its lists
// are equal to the results of Repository.Compile, byte for byte, in any order of the targets. Fleet
// is not safe for concurrent use.
type Fleet struct {
	repository *Repository
	sharing    *incremental.Sharing
	made       map[*catalog.Catalog]*made
	order      []*catalog.Catalog // the oldest first
	alike      int                // how many lists were derived from other lists
}

// maxMade is the maximum number of cached lists.
const maxMade = 64

// made is a list with its builder.
type made struct {
	b    *builder
	list step.List
	at   map[int]int // by item: its place in the list
}

// Fleet returns a Fleet for the targets of the repository.
func (r *Repository) Fleet() *Fleet {
	f := &Fleet{repository: r, made: map[*catalog.Catalog]*made{}}
	if len(r.ds) == 0 {
		f.sharing = incremental.Share(r.program)
	}
	return f
}

// List returns the same list and diagnostics as Repository.Compile.
func (f *Fleet) List(in Input) (step.List, diag.List) {
	if f.sharing == nil {
		return f.alone(in)
	}
	c, ds := f.sharing.Catalog(in.lang())
	return f.listOf(in, c, ds, &outcome{})
}

// listOf returns the list of a catalog. The steps of states that other lists can reuse are stored
// in o.
func (f *Fleet) listOf(in Input, c incremental.Shared, ds diag.List, o *outcome) (step.List, diag.List) {
	switch m := f.made[c.Like]; {
	case len(ds) > 0:
	case c.Catalog != nil && c.Like != nil:
		b, order, res, ds := fromCatalog(c.Catalog)
		if len(ds) == 0 && len(b.again) == 0 && !b.findsAny() { // an address of several phases depends on all of them
			f.keep(c.Catalog, newMade(b, order, res.List))
		}
		if len(ds) == 0 {
			return f.checked(in, res.List)
		}
	case c.Catalog != nil:
		if res, ds := FromCatalog(c.Catalog); len(ds) == 0 {
			return f.checked(in, res.List)
		}
	case m != nil:
		if list, ok := m.like(c, o); ok {
			f.alike++
			return f.checked(in, list)
		}
	}
	return f.alone(in)
}

// checked returns a list with the diagnostics that depend on the whole list.
func (f *Fleet) checked(in Input, l step.List) (step.List, diag.List) {
	p := f.repository.program
	if len(undeclaredWaits(p, l)) > 0 {
		return f.alone(in)
	}
	return l, placeholders(l, p.Placeholders())
}

// alone compiles a target without sharing: a target that resembles no other, or has an error.
func (f *Fleet) alone(in Input) (step.List, diag.List) {
	res, ds := f.repository.Compile(in)
	return res.List, ds
}

func (f *Fleet) keep(c *catalog.Catalog, m *made) {
	f.made[c] = m
	if f.order = append(f.order, c); len(f.order) > maxMade {
		delete(f.made, f.order[0])
		f.order = f.order[1:]
	}
}

// newMade records the places of items in the list. An address of an action can belong to several
// items, so actions have no place.
func newMade(b *builder, order []int, list step.List) *made {
	m := &made{b: b, list: make(step.List, len(list)), at: map[int]int{}}
	for i, s := range list {
		m.list[i] = s.Kept()
	}
	places := map[addr.Addr]int{}
	for i, s := range list {
		places[s.Addr()] = i
	}
	for _, i := range order {
		if b.items[i].act == nil {
			m.at[i] = places[b.items[i].step.Addr()]
		}
	}
	return m
}

// outcome returns the steps of the states of Shared.Changed. was is the outcome of the same target
// at the previous revision.
type outcome struct {
	steps [][]step.Step
	was   *outcome
}

// of returns the steps of a state.
func (o *outcome) of(k int, node catalog.Node, c incremental.Shared) ([]step.Step, bool) {
	if c.From != nil && c.From[k] >= 0 {
		return o.was.steps[c.From[k]], true
	}
	out, ds := node.Kind.Steps(c.States[k])
	return out.Steps, len(ds) == 0
}

// like derives the list of a catalog that differs in the attributes of some states. ok is false if
// their steps could have a different position.
func (m *made) like(c incremental.Shared, o *outcome) (step.List, bool) {
	list := slices.Clone(m.list)
	fresh := map[addr.Addr]bool{}
	for k, n := range c.Changed {
		node := m.b.c.Nodes[n]
		steps, ok := o.of(k, node, c)
		if !ok || len(steps) != len(m.b.of[n]) || !m.sameActs(n, c.States[k]) {
			return nil, false
		}
		o.steps = append(o.steps, steps)
		for j, s := range steps {
			i := m.b.of[n][j]
			old := m.b.items[i]
			if s.Same(old.step) {
				continue
			}
			if old.node != n || len(m.b.sharers[i]) > 0 || !sameOrder(old.step, s) || len(s.String()) > step.MaxLine ||
				!m.free(n, old.step, s, fresh) {
				return nil, false
			}
			s.Source = node.Source
			list[m.at[i]] = m.b.locked(s, []int{n})
		}
	}
	return list, true
}

// free reports whether the address of a step is unused and no action names it.
func (m *made) free(n int, old, s step.Step, fresh map[addr.Addr]bool) bool {
	a := s.Addr()
	if a == old.Addr() {
		return true
	}
	if _, taken := m.b.addrs[a]; taken || fresh[a] {
		return false
	}
	fresh[a] = true
	for _, x := range m.b.acts {
		if x.block >= 0 || slices.Contains(x.on, n) ||
			slices.Contains(x.failure, n) { // a rescue names all states after its block
			return false
		}
	}
	return true
}

// sameActs reports whether the actions of a state are unchanged.
func (m *made) sameActs(n int, s kind.State) bool {
	for _, a := range m.b.acts {
		if a.to != n {
			continue
		}
		for _, k := range m.b.c.Nodes[n].Kind.Actions {
			if k.Name != a.name {
				continue
			}
			if was, ds := k.Act(s); len(ds) > 0 || !was.Same(a.step) {
				return false
			}
		}
	}
	return true
}

// sameOrder reports whether two steps differ only in aspects that affect neither the order nor the
// errors of a list: the content of a file, or the edits of an EDIT.
func sameOrder(a, b step.Step) bool {
	if a.Verb != b.Verb || a.Path() != b.Path() || a.Absent() != b.Absent() {
		return false
	}
	switch a.Verb {
	case step.Copy:
		return a.Blob() != "" && b.Blob() != "" && slices.Equal(a.Attrs, b.Attrs)
	case step.Edit:
		return a.Get("create") == b.Get("create")
	}
	return false
}

// findsAny reports whether a step of any state is already done by an earlier state.
func (b *builder) findsAny() bool {
	for _, found := range b.finds {
		if found {
			return true
		}
	}
	return false
}
