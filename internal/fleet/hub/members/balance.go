package members

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/balance"
)

const (
	// balanceEvery is the time between two decisions. Other hubs report their agents as often.
	balanceEvery = 5 * time.Second
	// askAgain is the time after which an agent that did not move receives another request.
	askAgain = 10 * time.Minute
	// answersWithin limits the time for the answers to all requests of one decision.
	answersWithin = 4 * time.Second
)

// agentsByHub returns the number of agents of each reachable hub.
func (h *core) agentsByHub() map[string]int {
	x := h.Exchange()
	if h.peers == nil {
		return map[string]int{h.Hub: len(x.Connected())}
	}
	return h.joint().Exchange().AgentsByHub(h.Hub)
}

// BalanceAgents moves agents of this hub to hubs with fewer agents, until ctx ends: package balance decides how many. A
// retired hub moves all of its agents. Agents that cannot move stay connected. Each hub acts alone, also without a
// leader.
func (h *HubSet) BalanceAgents(ctx context.Context) error {
	if h.peers == nil {
		return nil
	}
	asked := map[fleet.TargetID]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(balanceEvery):
		}
		leaves := h.isDismissed()
		maps.DeleteFunc(asked, func(_ fleet.TargetID, at time.Time) bool {
			return leaves || h.Now().Sub(at).Abs() > askAgain
		})
		h.moveAgents(ctx, leaves, asked)
	}
}

// moveAgents sends requests to move to random agents that are not in asked, and adds these agents to asked.
func (h *HubSet) moveAgents(ctx context.Context, leaves bool, asked map[fleet.TargetID]time.Time) {
	accepting, addresses := map[string]int{}, map[string][]string{}
	for name, n := range h.agentsByHub() {
		m, _, is := h.Records.Members.Get(name)
		switch {
		case name == h.Hub:
			accepting[name] = n
		case is:
			accepting[name], addresses[name] = n, m.BusURLs
		}
	}
	ids := slices.DeleteFunc(h.Exchange().Connected(), func(id fleet.TargetID) bool {
		_, is := asked[id]
		return is
	})
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	done := make(chan struct{}, len(ids))
	sent := 0
	moves := balance.Moves(h.Hub, accepting, leaves)
	if !leaves {
		maps.DeleteFunc(addresses, func(name string, _ []string) bool { return moves[name] == 0 })
	}
	for name, n := range moves {
		r := fleet.MoveRequest{BusURLs: startingWith(name, addresses), Leaves: leaves}
		for _, id := range ids[:min(n, len(ids))] {
			asked[id] = h.Now()
			go func() {
				defer func() { done <- struct{}{} }()
				askToMove(ctx, h.Exchange(), id, r)
			}()
			sent++
		}
		ids = ids[min(n, len(ids)):]
	}
	for range sent {
		<-done
	}
}

// startingWith returns the addresses of one hub, and then the addresses of the other hubs, by name.
func startingWith(first string, addresses map[string][]string) (out []string) {
	out = slices.Clone(addresses[first])
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		if name != first {
			out = append(out, addresses[name]...)
		}
	}
	return out
}

// askToMove sends a request to an agent. An agent without a near address of another hub stays. So does an agent of an
// older version.
func askToMove(ctx context.Context, x fleet.Exchange, id fleet.TargetID, r fleet.MoveRequest) {
	if body, err := json.Marshal(r); err == nil {
		_, _ = x.Ask(ctx, id, fleet.MessageMove, body)
	}
}
