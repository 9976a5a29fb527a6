package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/members"
)

// Limits on executors that are open through one hub at once. Each uses at most a few hundred
// kilobytes of the hub, and an agent serves only a few dozen.
const (
	maxOpen         = 1024
	maxOpenOfUser   = 200
	maxOpenOnTarget = 8 // of one user
)

// OpenExecutor opens a stream to the executor of a target over the bus, through any hub. The header
// states whether the stream may change the target; the caller has checked the right of the user.
// Agents accept such a header only from hubs.
func (h *Hub) OpenExecutor(ctx context.Context, by access.Principal, id fleet.TargetID, changes bool) (io.ReadWriteCloser, error) {
	t, err := h.targets.Trusted(ctx, id)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(fleet.ExecutorHeader{By: by.Name, Changes: changes})
	if err != nil {
		return nil, err
	}
	leave, err := h.opened.enter(by.Name, id)
	if err != nil {
		return nil, err
	}
	opening, done := context.WithTimeout(ctx, silenceFor)
	defer done()
	stream, err := h.exchange.Open(opening, id, fleet.MessageExecutor, header)
	if err == nil {
		return &counted{stream, leave}, nil
	}
	leave()
	if opening.Err() != nil && ctx.Err() == nil {
		return nil, silentTarget(t.Name, members.MissingHubs(ctx, h.members))
	}
	return nil, fmt.Errorf("cannot work on %s: %w", t.Name, err)
}

// silentTarget returns the error for a target that did not answer. missing is set if a hub does not
// answer: it may still hold the connection of the agent.
func silentTarget(name string, missing error) error {
	if missing == nil {
		return &api.Refusal{Status: http.StatusServiceUnavailable, Why: fmt.Sprintf("cannot work on %s: its agent does not answer", name), Hint: "See its last contact: fettle target show " + name}
	}
	return &api.Refusal{Status: http.StatusServiceUnavailable, Why: fmt.Sprintf("cannot work on %s: no answer of its agent, which may be connected to a hub that does not answer: %v", name, missing),
		Hint: "The agent connects to another hub within a minute. Try again then, or use --via ssh"}
}

// counted is a stream that calls leave when it is closed.
type counted struct {
	io.ReadWriteCloser
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.ReadWriteCloser.Close()
}

// opened counts open executors. The zero value has none. It is safe for concurrent use.
type opened struct {
	mu    sync.Mutex
	all   int
	users map[string]int
	pairs map[[2]string]int
}

// enter counts one more executor, or returns a refusal. Calls of leave after the first have no
// effect.
func (o *opened) enter(user string, id fleet.TargetID) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pair := [2]string{user, string(id)}
	switch {
	case o.all >= maxOpen:
		return nil, &api.Refusal{Status: http.StatusTooManyRequests, Why: fmt.Sprintf("cannot open another executor: %d are open through this hub", o.all),
			Hint: "Try again later, or use another hub"}
	case o.users[user] >= maxOpenOfUser:
		return nil, &api.Refusal{Status: http.StatusTooManyRequests, Why: fmt.Sprintf("cannot open another executor: %s has %d open", user, o.users[user]),
			Hint: "Work on fewer targets at once: --parallel NUMBER"}
	case o.pairs[pair] >= maxOpenOnTarget:
		return nil, &api.Refusal{Status: http.StatusTooManyRequests, Why: fmt.Sprintf("cannot open another executor: %s has %d open on this target", user, o.pairs[pair]),
			Hint: "Close one of them and try again"}
	}
	if o.users == nil {
		o.users, o.pairs = map[string]int{}, map[[2]string]int{}
	}
	o.all++
	o.users[user]++
	o.pairs[pair]++
	return sync.OnceFunc(func() { o.leave(user, pair) }), nil
}

func (o *opened) leave(user string, pair [2]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.users[user]--; o.users[user] == 0 {
		delete(o.users, user)
	}
	if o.pairs[pair]--; o.pairs[pair] == 0 {
		delete(o.pairs, pair)
	}
}
