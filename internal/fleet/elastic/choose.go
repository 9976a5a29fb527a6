package elastic

import (
	"fmt"
	"slices"
)

// nominate chooses a node if the fleet has too few hubs.
func (v *view) nominate() (Change, bool) {
	stay := v.staying()
	if len(stay) >= v.Size {
		return Change{}, false
	}
	why := fmt.Sprintf("the fleet needs %s and has %d: %s", countHubs(v.Size), len(stay), v.SizeReason)
	if bad := v.which(v.failed); len(bad) > 0 {
		why = fmt.Sprintf("%s %s, and the fleet needs %s", bad[0].Name, v.problem(bad[0]), countHubs(v.Size))
	}
	return v.nominateFrom(stay, func(Node) bool { return true }, why)
}

// nominateElsewhere chooses a node of a failure domain without a hub if voters share a domain.
func (v *view) nominateElsewhere() (Change, bool) {
	stay, voters := v.staying(), v.voters()
	if len(stay) > v.Size || len(stay) >= v.Policy.Max || crowding(voters) == len(voters) {
		return Change{}, false
	}
	return v.nominateFrom(stay, func(n Node) bool { return inDomain(stay, n.Domain) == 0 },
		"several voters are in one failure domain, and this host is in another one")
}

// nominateFrom chooses the node with the fewest hubs in its failure domain.
func (v *view) nominateFrom(stay []Hub, fits func(Node) bool, why string) (Change, bool) {
	chosen, found := Node{}, false
	for _, n := range v.Nodes {
		if _, hub := v.hub(n.Name); hub || !n.Present || v.Avoid[n.Name] != 0 || !fits(n) {
			continue
		}
		cost := func(n Node) []int { return []int{inDomain(stay, n.Domain), n.Rank} }
		if c := slices.Compare(cost(n), cost(chosen)); !found || c < 0 || c == 0 && n.Name < chosen.Name {
			chosen, found = n, true
		}
	}
	return Change{Kind: Nominate, Name: chosen.Name, Reason: why}, found
}

// retireFailed removes a relay that no longer answers.
func (v *view) retireFailed() (Change, bool) {
	for _, h := range v.loose() {
		if v.failed(h) && !v.fresh(h) {
			return Change{Kind: Retire, Name: h.Name, Reason: fmt.Sprintf("%s %s", h.Name, v.problem(h))}, true
		}
	}
	return Change{}, false
}

// loose returns the hubs that can be retired: relays that an operator did not join.
func (v *view) loose() []Hub { return v.which(func(h Hub) bool { return !h.Voter && !h.Fixed }) }

// empty chooses a relay that moves its agents to other hubs: a relay that failed, or, if the fleet has too many hubs, a
// relay of the failure domain with the most hubs.
func (v *view) empty() (Change, bool) {
	stay := v.staying()
	can := v.loose()
	if len(stay) <= v.Size {
		can = slices.DeleteFunc(can, func(h Hub) bool { return !v.failed(h) })
	}
	if len(stay) < v.Size || len(can) == 0 || v.Changed != 0 && !since(v.Changed, v.now, v.Policy.ShrinkInterval) {
		return Change{}, false
	}
	h := can[best(can, func(i int) []int {
		return []int{number(!v.failed(can[i])), number(can[i].Name == v.Leader), -inDomain(stay, can[i].Domain),
			-v.rank(can[i].Name)}
	})]
	if v.failed(h) {
		return Change{Kind: Empty, Name: h.Name, Reason: fmt.Sprintf("%s %s", h.Name, v.problem(h))}, true
	}
	return Change{Kind: Empty, Name: h.Name, Reason: fmt.Sprintf("the fleet needs %s and has %d: %s",
		countHubs(v.Size), len(stay), v.SizeReason)}, true
}

// rank returns the rank of a hub as a node; the rank of an unknown node is 0.
func (v *view) rank(name string) int {
	for _, n := range v.Nodes {
		if n.Name == name {
			return n.Rank
		}
	}
	return 0
}
