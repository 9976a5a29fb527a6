package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"fettle.dev/fettle/internal/host/local"
)

// The memory that a hub can use in addition to its needs, in percent of these. At rest most of its
// memory belongs to idle agents. With so little additional memory, a busy hub would collect garbage
// all the time, so it can use more. It can use even more if much memory is in use, because
// collections then take long. The additional memory leaves gaps between the remaining objects,
// which is significant in small fleets.
const (
	restPercent  = 20
	workPercent  = 50
	largePercent = 100
	large        = 64 << 20 // bytes
)

// gcPolicy reads the measurements every lookEvery, and a span is that many looks. A hub is busy after
// workGCs collections since the last span, at any look: it collects all the time when it begins to
// work. For a hub that is already busy, stillGCs in a span are enough. After calmSpans without them
// it is at rest. Then free memory and read-only pages of this program return to the system:
// giveTimes in a row, since the stacks of connections shrink by half each time, and again after
// giveEvery spans. Go also collects as often by itself, but returns no memory.
//
// Allocations also count as work: workBytes, or the part 1/workPart of the memory in use if that is
// more. Half of it is enough for a busy hub. If much memory is in use, a collection takes long, and
// there are never that many.
const (
	lookEvery = 200 * time.Millisecond
	span      = 10
	workGCs   = 4
	stillGCs  = 2
	workBytes = 64 << 20
	workPart  = 16
	calmSpans = 10
	giveTimes = 4
	giveEvery = 60
)

// gcPolicy decides about the memory of a hub. The zero value rests.
type gcPolicy struct {
	last  measures // at the end of the last span
	looks int      // since then
	calm  int      // spans without work; below calmSpans it works
	busy  bool
	large bool // as of the last result
}

// measures are how many collections there were so far and how much was allocated, and how
// much is in use.
type measures struct{ gcs, allocated, used uint64 }

// look processes a measurement. It returns the new percentage, 0 for no change, and whether free
// memory must be returned to the system.
func (t *gcPolicy) look(m measures) (percent int, give bool) {
	gcs, allocated, much := m.gcs-t.last.gcs, m.allocated-t.last.allocated, max(workBytes, m.used/workPart)
	works := gcs >= workGCs || allocated >= much
	if t.looks++; t.looks < span && !works {
		return 0, false
	}
	t.last, t.looks, t.calm = m, 0, t.calm+1
	if works || t.busy && (gcs >= stillGCs || allocated >= much/2) {
		t.calm = 0
	}
	switch {
	case t.calm == 0 && (!t.busy || t.large != (m.used >= large)):
		t.busy, t.large = true, m.used >= large
		if t.large {
			return largePercent, false
		}
		return workPercent, false
	case t.busy && t.calm >= calmSpans:
		t.busy, percent = false, restPercent
	}
	rested := t.calm - calmSpans
	return percent, rested >= 0 && (rested < giveTimes || rested%giveEvery == 0)
}

// keep collects garbage as thrift decides until ctx ends. GOGC overrides it.
func (t *gcPolicy) keep(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(restPercent)
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"}}
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if slices.ContainsFunc(sample, func(s metrics.Sample) bool { return s.Value.Kind() != metrics.KindUint64 }) {
			continue
		}
		percent, give := t.look(measures{sample[0].Value.Uint64(), sample[1].Value.Uint64(), sample[2].Value.Uint64()})
		if percent > 0 {
			debug.SetGCPercent(percent)
		}
		if give {
			debug.FreeOSMemory()
			_ = local.Shed() // they are only a little room
		}
	}
}
