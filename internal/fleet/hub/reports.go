package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
)

// onReport keeps a report; the answer says that it is durable. One that has only a part of
// the modules is taken only behind the report that this hub was the last to acknowledge:
// the log has that one then, and whoever reads it has the rest.
func (h *Hub) onReport(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	body, err := h.reports.Decompress(body, fleet.MaxReport)
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
	if err := h.mayReport(ctx, from, len(body)); err != nil {
		return nil, err
	}
	began := h.now()
	if _, err := h.log.Append(ctx, [][]byte{body}); err != nil {
		return nil, err
	}
	h.told.acknowledge(from, r.Seq)
	h.metrics.Reports(1)
	h.metrics.Committed(h.now().Sub(began))
	return nil, nil
}

// How much each target may tell. A report counts as one and as one more for each KiB. A
// fullAssignment outbox of a target that was away for days comes through at once, or within a day
// where there are hundreds of modules, and what changes without end every few seconds.
// Whoever reports without end adds no more than some 80 MiB to the log in a day.
const (
	reportBurst = 32 << 10
	reportEvery = time.Second
)

func reportPaces() targetLimiter {
	return targetLimiter{every: rate.Every(reportEvery), burst: reportBurst}
}

func reportCost(size int) int { return 1 + size>>10 }

// mayReport refuses a report of a target that tells too much. It keeps it, and tries again
// later.
func (h *Hub) mayReport(ctx context.Context, from fleet.TargetID, size int) error {
	ok, tell := h.reporting.takeMany(from, h.now(), reportCost(size))
	if ok {
		return nil
	}
	if tell {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Requested, Target: from, Text: "reports again and again", Error: "its reports are taken slowly; if nothing changes there all the time, look who has the machine"})
	}
	return errors.New("cannot take more reports of this target now: they are taken slowly, so keep them")
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
