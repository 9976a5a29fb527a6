package compile

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// builder makes one list. Its graph has a node for each step and action, and nodes without a step
// for groups and for shared guesses.
type builder struct {
	c     *catalog.Catalog
	g     *catalog.Graph
	items []item
	// of has the items of each state of the catalog.
	of          [][]int
	first, last []int // graph nodes by catalog node
	addrs       map[addr.Addr]int
	blobs       map[string]kind.Blob
	notes       []note
	acts        []*act
	again       map[addr.Addr][]int // items that write an address in later phases, in order
	orders      orders
	finds       map[int]bool // states whose step is already done by a state ordered before them
	// found has the items that such states also request. An item cannot be both in a group and
	// before it, so it belongs to the earlier state.
	found     map[int][]int
	sharers   map[int][]int           // states, other than the owner, that request an item
	ranAfter  map[int][]int           // cached results of ran
	declared  [][2]int                // catalog nodes, the second after the first, as the source orders them
	ways      map[string][]diag.Range // the uses that lead to a state of the list, by its ID
	heldNodes []bool                  // states that wait for a value of a run, by catalog node
	ds        diag.List
}

// act is one action with its triggers: one line of the list.
type act struct {
	to      int // catalog node of the state whose action it is
	name    string
	step    step.Step
	item    int   // graph node; -1 for an immediate action
	on      []int // catalog nodes of states
	failure []int
	behind  int // catalog node that an immediate action follows
	phase   int // of its triggers
	block   int // catalog node that it rescues; -1 for none
	told    int // cached result of told: 1 for yes, -1 for no
}

// item is one node of the graph.
type item struct {
	step    step.Step
	node    int  // of the catalog
	virtual bool // has no step
	name    string
	act     *act // the step is a deferred action
	phase   int  // of the step's address, from 1; 0 is 1
	held    bool // deferred until a run provides more values
}

// note explains an arc.
type note struct {
	why string
	rng diag.Range
}

// orders determines which nodes of a catalog the author has ordered. Each node has a beginning and
// an end; a group begins before its members and ends after them.
type orders struct {
	c       *catalog.Catalog
	arcs    [][]int
	from    int // the node that reached is about
	reached []bool
}
