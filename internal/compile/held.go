package compile

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// stepsOf returns the steps of a state. The steps of an unknown state have substitutes for unknown
// values. They only determine the position of the state, and never reach a list.
func (b *builder) stepsOf(n catalog.Node) (kind.Output, diag.List) {
	if !n.Unknown {
		return n.Kind.Steps(n.State)
	}
	if main, ok := n.State.Attrs[n.Kind.Main]; n.Kind.Steps == nil || !ok || !main.IsWhollyKnown() {
		return kind.Output{}, nil
	}
	s := n.State
	s.Attrs = make(map[string]cty.Value, len(n.State.Attrs))
	for name, v := range n.State.Attrs {
		known, err := cty.Transform(v, func(_ cty.Path, part cty.Value) (cty.Value, error) {
			if part.IsKnown() {
				return part, nil
			}
			return anything(part.Type()), nil
		})
		if err != nil {
			return kind.Output{}, nil
		}
		s.Attrs[name] = known
	}
	out, ds := n.Kind.Steps(s)
	if ds.HasErrors() {
		return kind.Output{}, nil
	}
	return kind.Output{Steps: out.Steps}, nil
}

// anything returns an arbitrary value of a type.
func anything(t cty.Type) cty.Value {
	switch {
	case t == cty.String || t == cty.DynamicPseudoType:
		return cty.StringVal("held")
	case t == cty.Bool:
		return cty.False
	case t == cty.Number:
		return cty.Zero
	case t.IsMapType():
		return cty.MapValEmpty(t.ElementType())
	case t.IsListType():
		return cty.ListValEmpty(t.ElementType())
	case t.IsSetType():
		return cty.SetValEmpty(t.ElementType())
	case t.IsObjectType():
		return cty.EmptyObjectVal
	}
	return cty.NullVal(t)
}

// blocks finds the states that wait for others: for a value of a run, or for the block that they follow.
type blocks struct{ *builder }

// hold removes states that wait for a value of a run, and all items after them by an order that is
// not a guess. It also removes every check. An action with other triggers stays, for these
// triggers.
func (b blocks) hold() {
	b.heldNodes = make([]bool, len(b.c.Nodes))
	held := map[int]bool{}
	var todo []int
	take := func(i int) {
		if !held[i] {
			held[i] = true
			todo = append(todo, i)
		}
	}
	for n, node := range b.c.Nodes {
		if node.Unknown {
			b.heldNodes[n] = true
			take(b.first[n])
			for _, i := range b.of[n] {
				take(i)
			}
		}
	}
	if len(todo) == 0 {
		return
	}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		for _, a := range b.g.Out(i) {
			if act := b.items[a.To].act; a.Strength == catalog.Hard && (act == nil || b.toldByNobody(act, held)) {
				take(a.To)
			}
		}
	}
	for i := range b.items {
		it := &b.items[i]
		it.held = held[i] || it.step.Verb == step.Check
		if it.held && it.act == nil && it.node >= 0 && !b.c.Nodes[it.node].Group {
			b.heldNodes[it.node] = true
		}
	}
}

// toldByNobody reports whether all triggers of an action, or its own state, are deferred.
func (b blocks) toldByNobody(a *act, held map[int]bool) bool {
	if held[b.last[a.to]] {
		return true
	}
	for _, n := range slices.Concat(a.on, a.failure) {
		if !held[b.last[n]] {
			return false
		}
	}
	return true
}

// heldStates returns the deferred states, in the order of declaration.
func (b blocks) heldStates() []Deferred {
	var out []Deferred
	for n, node := range b.c.Nodes {
		if n >= len(b.heldNodes) || !b.heldNodes[n] || node.Group {
			continue
		}
		h := Deferred{ID: node.ID, Range: node.Range, Needs: node.Needs}
		if node.Unknown && len(h.Needs) == 0 {
			h.WaitsFor = b.waitsFor(node.ID)
		}
		if len(b.of[n]) > 0 {
			h.Addr = b.items[b.of[n][0]].step.Addr()
		}
		out = append(out, h)
	}
	return out
}

// waitsFor describes the values that other targets must report before a state of this ID is known.
func (b blocks) waitsFor(id string) string {
	var texts []string
	for _, w := range b.c.Waits {
		if strings.HasPrefix(id, w.Prefix) {
			texts = append(texts, w.Text)
		}
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// outputs returns the commands whose output is used. A deferred command has no line that could have
// run.
func (b *builder) outputs() []Output {
	var out []Output
	for _, a := range b.c.Results {
		if i, ok := b.addrs[a]; ok && !b.items[i].held {
			out = append(out, Output{Addr: a, Step: b.items[i].step.Stored()})
		}
	}
	return out
}

// there reports whether the list contains an address.
func (b *builder) there(i int) (addr.Addr, bool) {
	return b.items[i].step.Addr(), !b.items[i].held
}
