package hub

import (
	"context"
	"fmt"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// onReport keeps a report; the answer says that it is durable. One that has only a part of
// the modules is taken only behind the report that this hub was the last to acknowledge:
// the log has that one then, and whoever reads it has the rest.
func (h *Hub) onReport(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	body, err := h.reports.Unsqueeze(body, fleet.MaxReport)
	if err != nil {
		return nil, err
	}
	r, err := fleet.ParseReport(body)
	if err != nil {
		return nil, err
	}
	if r.Target != from {
		return nil, fmt.Errorf("%w: a report of another target", fleet.ErrDenied)
	}
	if _, err := h.active(ctx, from); err != nil {
		return nil, err
	}
	if r.Since > 0 && h.told.of(from) != r.Since {
		return nil, fmt.Errorf("cannot take what is other since report %d: tell all of it", r.Since)
	}
	h.view.Heard(from, h.now())
	began := h.now()
	if _, err := h.log.Append(ctx, [][]byte{body}); err != nil {
		return nil, err
	}
	h.told.acknowledge(from, r.Seq)
	h.metrics.Reports(1)
	h.metrics.Committed(h.now().Sub(began))
	return nil, nil
}

// told has the number of the report of each target that this hub was the last to
// acknowledge. The zero value is ready.
type told struct {
	mu  sync.Mutex
	all map[fleet.TargetID]uint64
}

func (t *told) of(id fleet.TargetID) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[id]
}

func (t *told) acknowledge(id fleet.TargetID, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[fleet.TargetID]uint64{}
	}
	t.all[id] = seq
}

// forget has a target tell all again.
func (t *told) forget(id fleet.TargetID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// forgetAll is forget of all targets: the log may have lost what they told.
func (t *told) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = nil
}
