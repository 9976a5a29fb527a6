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

// onReport stores a report, which is durable when onReport returns nil. A partial report, with only
// some modules, is accepted only if this hub acknowledged the previous report: then the log has
// that one, and readers of the log have the rest of the state.
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
		return nil, fmt.Errorf("cannot accept only the changes since report %d: send a full report", r.Since)
	}
	h.view.RecordContact(from, h.now())
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

// Limits on the reports of each target. A report costs one, plus one for each KiB. The full outbox
// of a target that was offline for days is accepted at once, or within a day if it has hundreds of
// modules. So are frequent changes every few seconds. Endless reports add at most about 80 MiB per
// day to the log.
const (
	reportBurst = 32 << 10
	reportEvery = time.Second
)

func reportPaces() targetLimiter {
	return targetLimiter{every: rate.Every(reportEvery), burst: reportBurst}
}

func reportCost(size int) int { return 1 + size>>10 }

// mayReport refuses a report of a target that exceeds its limit. Its agent keeps the report and
// sends it again later.
func (h *Hub) mayReport(ctx context.Context, from fleet.TargetID, size int) error {
	ok, tell := h.reporting.takeMany(from, h.now(), reportCost(size))
	if ok {
		return nil
	}
	if tell {
		h.note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: from, Text: "reports again and again",
			Error: "the hub limits its reports. If its state does not really change all the time, check whether the host is compromised"})
	}
	return errors.New("cannot accept more reports of this target now: the rate is limited. Send the report again later")
}

// told contains the number of the last report of each target that this hub acknowledged. The zero
// value is ready.
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

// forget makes the hub accept only a full report of the target next.
func (t *told) forget(id fleet.TargetID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// forgetAll is forget for all targets, because the log may have lost reports.
func (t *told) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = nil
}
