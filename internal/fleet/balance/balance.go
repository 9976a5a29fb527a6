// Package balance decides how many agents a hub moves to other hubs, so that all hubs serve similar numbers of agents
// without a load balancer.
//
//	moves := balance.Moves("hub1", map[string]int{"hub1": 900, "hub2": 100, "hub3": 50}, false)
//	// map[hub2:…, hub3:…]: the numbers of agents to move now
//
// Each hub decides for itself, from the last known numbers of all hubs. They may be some seconds old, so a hub moves
// only a part of its excess at once. It moves nothing while the numbers differ by little, so agents do not move back
// and forth. A hub that leaves moves all of its agents.
package balance

import (
	"maps"
	"slices"
)

const (
	// slack is the number of agents, in addition to a tenth of the mean, that a hub serves more than the mean without
	// moving any.
	slack = 5
	// A hub moves at most a twentieth of its agents at once, or least if that is more.
	part, least = 20, 10
	// The same for a hub that leaves: a quarter of its agents.
	partLeaving, leastLeaving = 4, 100
)

// Moves returns how many agents the hub self moves to each of the other hubs now; absent means none. agents are
// the numbers of agents of self and of all hubs that accept agents. leaves means that self is retired and moves
// all. Repeated calls with the same numbers repeat the moves.
func Moves(self string, agents map[string]int, leaves bool) map[string]int {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(agents)), func(name string) bool { return name == self })
	if len(others) == 0 {
		return nil
	}
	own, sum := agents[self], 0
	for _, n := range agents {
		sum += n
	}
	accepting := len(others) + 1
	if leaves {
		accepting--
	}
	mean := (sum + accepting - 1) / accepting
	n := 0
	switch {
	case leaves:
		n = min(own, max(leastLeaving, own/partLeaving))
	case own > mean+mean/10+slack:
		n = min((own-mean)/2, max(least, own/part))
	}
	return spread(n, mean, others, agents)
}

// spread distributes n agents over hubs in proportion to the number of agents that each of them lacks to the mean. If
// none lacks any, it distributes them evenly.
func spread(n, mean int, others []string, agents map[string]int) map[string]int {
	lacks, all := map[string]int{}, 0
	for _, name := range others {
		lacks[name] = max(0, mean-agents[name])
		all += lacks[name]
	}
	if all == 0 {
		for _, name := range others {
			lacks[name] = 1
		}
		all = len(others)
	}
	out, given, upTo := map[string]int{}, 0, 0
	for _, name := range others {
		upTo += lacks[name]
		if k := n*upTo/all - given; k > 0 {
			out[name] = k
			given += k
		}
	}
	return out
}
