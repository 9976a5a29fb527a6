package catalog

// components gives the strongly connected component of each node and how many
// nodes each has (Tarjan's algorithm). It keeps its own stack: a chain of
// 200,000 states must not be a recursion of that depth.
func (g *Graph) components() (comp []int, size []int) {
	t := tarjan{g: g, comp: make([]int, len(g.out)), index: make([]int, len(g.out)), low: make([]int, len(g.out)),
		next: make([]int, len(g.out))}
	for i := range t.comp {
		t.comp[i] = -1
	}
	for n := range g.out {
		if t.index[n] == 0 {
			t.walk(n)
		}
	}
	return t.comp, t.size
}

type tarjan struct {
	g           *Graph
	comp, size  []int
	index, low  []int // 0: not visited
	next        []int // the next arc to look at
	open, calls []int
	count       int
}

func (t *tarjan) enter(n int) {
	t.count++
	t.index[n], t.low[n] = t.count, t.count
	t.open = append(t.open, n)
	t.calls = append(t.calls, n)
}

func (t *tarjan) walk(root int) {
	t.enter(root)
	for len(t.calls) > 0 {
		n := t.calls[len(t.calls)-1]
		if t.next[n] < len(t.g.out[n]) {
			to := t.g.out[n][t.next[n]].To
			t.next[n]++
			switch {
			case t.index[to] == 0:
				t.enter(to)
			case t.comp[to] < 0:
				t.low[n] = min(t.low[n], t.index[to])
			}
			continue
		}
		t.leave(n)
	}
}

func (t *tarjan) leave(n int) {
	t.calls = t.calls[:len(t.calls)-1]
	if len(t.calls) > 0 {
		up := t.calls[len(t.calls)-1]
		t.low[up] = min(t.low[up], t.low[n])
	}
	if t.low[n] != t.index[n] {
		return
	}
	id := len(t.size)
	t.size = append(t.size, 0)
	for {
		m := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		t.comp[m] = id
		t.size[id]++
		if m == n {
			return
		}
	}
}
