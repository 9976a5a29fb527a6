package targets

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
)

// Limits on the reports of each target. A report costs one, plus one for each KiB. The full outbox
// of a target that was offline for days is accepted at once, or within a day if it has hundreds of
// modules. So are frequent changes every few seconds. Endless reports add at most about 80 MiB per
// day to the log.
const (
	reportBurst = 32 << 10
	reportEvery = time.Second
)

func reportPaces() limits.TargetLimiter {
	return limits.TargetLimiter{Every: rate.Every(reportEvery), Burst: reportBurst}
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
