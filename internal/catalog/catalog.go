// Package catalog holds catalogs: everything that one target should be, as
// evaluated states with the graph between them, and the rules of order that
// both states and steps obey.
//
//	g := catalog.NewGraph(2)
//	g.Add(catalog.Arc{From: 1, To: 0}) // 1 comes before 0
//	order := g.Order(catalog.Rank{})   // [1 0]
//
// Nothing here reads a file or a machine. Indexes stand for names so that
// 200,000 states stay cheap.
package catalog

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/kind"
)

// MaxStates is how many states one target may have.
const MaxStates = 200_000

// Catalog is all the states of one target in declaration order. It is built
// once and then only read.
type Catalog struct {
	Target string
	Labels map[string]string
	Policy Policy
	// Nodes are states and groups. A group precedes its members.
	Nodes    []Node
	Edges    []Edge
	Triggers []Trigger
	// Results are the states whose output others use, sorted by address.
	Results []addr.Addr
	// FactsUsed are the names of the facts that are declared as inputs, sorted.
	FactsUsed []string
	// Files are the paths of the repository that took part, sorted.
	Files []string
	// Exports are the exported values of its modules, sorted.
	Exports []exported.Own
	// Waits are why values of others are not known yet.
	Waits []Wait
}

// Wait is a value that other targets must report first.
type Wait struct {
	Prefix string // of the IDs of the states of the module that uses it
	Text   string // for users: "waiting for …"
}

// Node is a state, or a group: a module, a block, an invocation of a defined kind, or all
// states of one for_each. A node that is ordered after a group is ordered after every
// member.
type Node struct {
	ID     string
	Parent int // index of the group it is in, -1 at the top
	Group  bool
	Range  diag.Range
	// Source is "file:line" for the source map of its steps.
	Source string
	// Trace leads outwards through the invocations that brought it in.
	Trace []diag.Range
	// Kind and State are set for states.
	Kind  *kind.Kind
	State kind.State
	// Defined is the kind of which a group is an invocation, "" for other groups.
	Defined string
	// Unknown says that some attributes can only be known by a run, and Needs whose
	// output they come from.
	Unknown bool
	Needs   []addr.Addr
	// Locks are the locks that a run needs before it changes the state, or the members of the group.
	Locks []string
}

// Edge orders one node before another.
type Edge struct {
	Before, After int
	// Why is how the author said it: "reference", "after", "before".
	Why   string
	Range diag.Range
}

// Trigger says that a change of one node runs an action of another.
type Trigger struct {
	From, To int
	Action   string
	// Immediate runs it right behind From, once for each notifier.
	Immediate bool
	// Failure triggers the action when From fails, instead of when it changes.
	Failure bool
	// Rescue: From is a block, and the action rescues it. Failure is set too.
	Rescue bool
	Range  diag.Range
}

// Members gives the states of a node: itself, or all states in the group, in
// order. Groups are contiguous, so it stops at the first node outside.
func (c *Catalog) Members(n int) []int {
	if !c.Nodes[n].Group {
		return []int{n}
	}
	in := map[int]bool{n: true}
	var out []int
	for i := n + 1; i < len(c.Nodes) && in[c.Nodes[i].Parent]; i++ {
		if c.Nodes[i].Group {
			in[i] = true
			continue
		}
		out = append(out, i)
	}
	return out
}
