package compile

import "slices"

// sourceOrder is the order of states that the source declares: after, before and references. Orders that are derived
// from steps are not part of it.
type sourceOrder struct {
	b        *builder
	index    map[int][]int // catalog node to places in the list
	children map[int][]int // by group
	before   map[int][]int // nodes that are declared before a node
	known    map[int]members
}

// members are the states of a node that have steps, in the order of the list.
type members []int

// maxPairs is the maximum number of states of a block or a module that are named one by one.
const maxPairs = 8

func newSourceOrder(b *builder, index map[int][]int) *sourceOrder {
	o := &sourceOrder{b: b, index: index, children: map[int][]int{}, before: map[int][]int{}, known: map[int]members{}}
	for n, node := range b.c.Nodes {
		if node.Parent >= 0 {
			o.children[node.Parent] = append(o.children[node.Parent], n)
		}
	}
	for _, pair := range b.declared {
		o.before[pair[1]] = append(o.before[pair[1]], pair[0])
	}
	return o
}

// after returns the IDs of the states before each state. Of a block or module with more than maxPairs states, only the
// last one is before others, and only the first one is after others.
func (o *sourceOrder) after() map[int][]string {
	found := map[int]map[int]bool{}
	for _, pair := range o.b.declared {
		earlier, later := o.members(pair[0]), o.members(pair[1])
		if n := len(earlier); n > maxPairs {
			earlier = earlier[n-1:]
		}
		if len(later) > maxPairs {
			later = later[:1]
		}
		for _, n := range later {
			if found[n] == nil {
				found[n] = map[int]bool{}
			}
			for _, e := range earlier {
				found[n][e] = found[n][e] || e != n
			}
		}
	}
	out := map[int][]string{}
	for n, set := range found {
		var nodes members
		for e, ok := range set {
			if ok {
				nodes = append(nodes, e)
			}
		}
		o.sort(nodes)
		for _, e := range nodes {
			out[n] = append(out[n], o.b.c.Nodes[e].ID)
		}
	}
	return out
}

// members returns the states of a node. Instead of a state without steps, it returns the states before it.
func (o *sourceOrder) members(n int) members {
	if m, ok := o.known[n]; ok {
		return m
	}
	o.known[n] = nil
	var out members
	switch {
	case o.b.c.Nodes[n].Group:
		for _, c := range o.children[n] {
			if len(o.index[c]) > 0 || o.b.c.Nodes[c].Group {
				out = append(out, o.members(c)...)
			}
		}
	case len(o.index[n]) > 0:
		out = members{n}
	default:
		out = o.owners(n)
	}
	o.sort(out)
	out = slices.Compact(out)
	o.known[n] = out
	return out
}

// owners returns the states that have the steps of a state. If there are none, it returns the states before it.
func (o *sourceOrder) owners(n int) (out members) {
	for _, i := range slices.Concat(o.b.of[n], o.b.found[n]) {
		if owner := o.b.items[i].node; len(o.index[owner]) > 0 {
			out = append(out, owner)
		}
	}
	if len(out) == 0 {
		for _, e := range o.before[n] {
			out = append(out, o.members(e)...)
		}
	}
	return out
}

func (o *sourceOrder) sort(m members) {
	slices.SortFunc(m, func(a, b int) int {
		if d := o.index[a][0] - o.index[b][0]; d != 0 {
			return d
		}
		return a - b
	})
}
