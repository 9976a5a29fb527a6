package members

import (
	"maps"
	"slices"
	"time"
)

// emptyWithin is the longest time for which the leader waits for a retired hub whose number of agents does not get
// lower. Some agents cannot move, and hubs of older versions do not move any.
const emptyWithin = time.Minute

// emptying contains the retired hubs that still have agents. A new leader begins with an empty value.
type emptying map[string]remaining

// remaining is the lowest known number of agents of a hub, and the time since when it is known.
type remaining struct {
	agents int
	since  time.Time
}

// names returns the retired hubs that must stay for now, because they move their agents. agents are the numbers of
// agents of the reachable hubs.
func (e emptying) names(leaving []string, agents map[string]int, now time.Time) (out []string) {
	maps.DeleteFunc(e, func(name string, _ remaining) bool { return !slices.Contains(leaving, name) })
	for _, name := range leaving {
		before, known := e[name]
		if n := agents[name]; !known || n < before.agents {
			before = remaining{n, now}
			e[name] = before
		}
		if before.agents > 0 && now.Sub(before.since) < emptyWithin {
			out = append(out, name)
		}
	}
	return out
}
