package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/clone"
)

// A target may claim so often at once, and then once in each time. A proof that it was cloned takes
// about a dozen claims.
const (
	claimBurst = 60
	claimEvery = 30 * time.Second
)

const claimPrefix = "claim/"

// claims answers the claims of agents, by which clones are detected. The records are in the
// store only: a claim is rare, and they would take memory for each target.
type claims struct {
	store    fleet.Store
	exchange fleet.Exchange
	now      func() time.Time
	active   func(ctx context.Context, id fleet.TargetID) (fleet.Target, error)
	newest   func(ctx context.Context, id fleet.TargetID) (uint64, error)
	proved   func(id fleet.TargetID, copies []fleet.Copy) // called again until the target is marked
	released func(id fleet.TargetID)
	pace     targetLimiter
	ready    chan struct{}

	mu     sync.Mutex
	cloned map[fleet.TargetID]bool // active targets
}

func newClaims(h *Hub) *claims {
	return &claims{
		store: h.stores["notices"], exchange: h.exchange, now: h.now, active: h.active, newest: h.view.Newest, proved: h.onCloned, released: h.onReleased, cloned: map[fleet.TargetID]bool{},
		pace: targetLimiter{every: rate.Every(claimEvery), burst: claimBurst}, ready: make(chan struct{}),
	}
}

// answer takes a claim into the record of its target. The record is durable before the answer: an
// agent never has a value that hubs do not know.
func (c *claims) answer(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	claim, err := fleet.ParseClaim(body)
	if err != nil {
		return nil, err
	}
	t, err := c.active(ctx, from)
	if err != nil {
		return nil, err
	}
	if ok, _ := c.pace.take(from, c.now()); !ok {
		return nil, fmt.Errorf("cannot take more claims of %s now", t.Name)
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
		if r.Proved && !t.Cloned() {
			c.proved(from, r.Copies())
		}
		seq, err := c.newest(ctx, from)
		if err != nil {
			return nil, err
		}
		return json.Marshal(fleet.Claimed{Value: value, Seq: seq})
	}
}

// record returns the record of a target and its revision. A record that cannot be read counts as
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

// forget removes the record of a target: an operator decided, or the target left.
func (c *claims) forget(ctx context.Context, id fleet.TargetID) error {
	c.pace.forget(id)
	if err := c.store.Delete(ctx, claimPrefix+string(id), 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return nil
}

// follow requests claims of the agents that are connected to this hub whenever a record is not
// mirrorsFilled. All hubs do, so that each process with the identity of the target claims.
func (c *claims) follow(ctx context.Context) error {
	var once sync.Once
	return c.store.Watch(ctx, c.request, func() { once.Do(func() { close(c.ready) }) })
}

func (c *claims) filled() <-chan struct{} { return c.ready }

func (c *claims) request(e fleet.Entry) {
	id, ours := strings.CutPrefix(e.Key, claimPrefix)
	var r clone.Record
	if !ours || e.Gone || !c.exchange.Here(fleet.TargetID(id)) || json.Unmarshal(e.Value, &r) != nil || r.Settled || r.Proved {
		return
	}
	_ = c.exchange.Tell(fleet.TargetID(id), fleet.WordClaim, nil) // it claims by itself later
}
