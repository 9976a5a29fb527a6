package targets

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/clone"
	"fettle.dev/fettle/internal/fleet/hub/limits"
)

// A target may send claimBurst claims at once, and then one per claimEvery. A proof that a target
// was cloned takes about a dozen claims.
const (
	claimBurst = 60
	claimEvery = 30 * time.Second
)

const claimPrefix = "claim/"

// claims answers the claims of agents, with which hubs detect clones. The records are only in the
// store, not in memory: claims are rare, and a fleet has very many targets.
type claims struct {
	store    fleet.Store
	exchange fleet.Exchange
	now      func() time.Time
	active   func(ctx context.Context, id fleet.TargetID) (fleet.Target, error)
	newest   func(ctx context.Context, id fleet.TargetID) (uint64, error)
	proved   func(id fleet.TargetID, copies []fleet.Copy) // called again until the target is marked
	released func(id fleet.TargetID)
	pace     limits.TargetLimiter
	ready    chan struct{}

	mu     sync.Mutex
	cloned map[fleet.TargetID]bool // active targets
}

// answer adds a claim to the record of its target. The record is durable before the answer is sent:
// an agent never has a value that is missing in the record.
func (c *claims) answer(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	claim, err := fleet.ParseClaim(body)
	if err != nil {
		return nil, err
	}
	t, err := c.active(ctx, from)
	if err != nil {
		return nil, err
	}
	if ok, _ := c.pace.Take(from, c.now()); !ok {
		return nil, fmt.Errorf("cannot accept more claims of %s now: it sent too many. Its agent tries again", t.Name)
	}
	for {
		r, rev, err := c.record(ctx, from)
		if err != nil {
			return nil, err
		}
		value := rand.Text()
		r = r.Take(claim, value, c.now().Unix())
		err = c.put(ctx, from, r, rev)
		if errors.Is(err, fleet.ErrConflict) {
			continue // another claim was faster
		}
		if err != nil {
			return nil, err
		}
		if r.Cloned && !t.Cloned() {
			c.proved(from, r.Copies())
		}
		seq, err := c.newest(ctx, from)
		if err != nil {
			return nil, err
		}
		return json.Marshal(fleet.Claimed{Value: value, Seq: seq})
	}
}

// record returns the record of a target and its revision. A record that cannot be decoded counts as
// empty: it proves nothing.
func (c *claims) record(ctx context.Context, id fleet.TargetID) (r clone.Record, rev uint64, err error) {
	e, err := c.store.Get(ctx, claimPrefix+string(id))
	if errors.Is(err, fleet.ErrNotFound) {
		return r, 0, nil
	}
	if err == nil && json.Unmarshal(e.Value, &r) != nil {
		r = clone.Record{}
	}
	return r, e.Rev, err
}

func (c *claims) put(ctx context.Context, id fleet.TargetID, r clone.Record, rev uint64) error {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = c.store.Update(ctx, claimPrefix+string(id), text, rev)
	}
	return err
}

// forget removes the record of a target after an operator's decision, or when the target leaves.
func (c *claims) forget(ctx context.Context, id fleet.TargetID) error {
	c.pace.Forget(id)
	if err := c.store.Delete(ctx, claimPrefix+string(id), 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return nil
}

// follow watches the records until ctx ends. If a record is not settled, it requests claims from
// the agents that are connected to this hub. All hubs do so: each process with the identity of the
// target then claims.
func (c *claims) follow(ctx context.Context) error {
	var once sync.Once
	return c.store.Watch(ctx, c.request, func() { once.Do(func() { close(c.ready) }) })
}

func (c *claims) request(e fleet.Entry) {
	id, ours := strings.CutPrefix(e.Key, claimPrefix)
	var r clone.Record
	if !ours || e.Gone || !c.exchange.IsConnected(fleet.TargetID(id)) || json.Unmarshal(e.Value, &r) != nil ||
		r.Settled || r.Cloned {
		return
	}
	_ = c.exchange.Tell(fleet.TargetID(id), fleet.MessageClaim, nil) // if it fails: agents also claim on their own
}

// onTarget handles a change in the registry. When a target becomes cloned, it ends the agent
// connections and their streams once. When an operator trusts the target again, released runs.
func (c *claims) onTarget(id fleet.TargetID, t fleet.Target) {
	is := t.Standing == fleet.Active && t.Cloned()
	c.mu.Lock()
	was := c.cloned[id]
	if is {
		c.cloned[id] = true
	} else {
		delete(c.cloned, id)
	}
	c.mu.Unlock()
	switch {
	case is && !was:
		c.exchange.Kick(id)
	case was && !is:
		c.released(id)
	}
}

// isCloned reports whether a target gets nothing because it was cloned.
func (c *claims) isCloned(id fleet.TargetID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cloned[id]
}
