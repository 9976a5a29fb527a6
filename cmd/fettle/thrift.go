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

// How much memory a hub may use beside what it needs, in percent of that: at rest most of it
// is of agents that rest too, and a hub that works collects all the time with so little. It may
// use more while it works where much is in use, which takes long to look through. What it uses
// meanwhile leaves holes between what stays, which tells in a fleet that is not large.
const (
	restPercent  = 20
	workPercent  = 50
	largePercent = 100
	large        = 64 << 20 // bytes
)

// lookEvery is how often thrift looks, and a span is so many looks. So many collections since
// the last span are work, at whatever look they are seen, since a hub at rest collects all the
// time when it begins to work; fewer in a span are enough for work that goes on, and calm
// after so many spans without is rest. Then memory that is free goes back to the system, and
// pages of this program that were only read: some times one after the other, since the stacks
// of connections shrink by half with each, and again after giveEvery spans. Go collects as
// often by itself, and gives nothing back.
//
// So much that was allocated is work as well, or this part of all that is in use, and half of
// it is enough: where much is in use a collection takes long, and there are never so many.
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

// thrift decides about the memory of a hub. The zero value rests.
type thrift struct {
	last  measures // at the end of the last span
	looks int      // since then
	calm  int      // spans without work; below calmSpans it works
	busy  bool
	large bool // as it was said last
}

// measures are how many collections there were so far and how much was allocated, and how
// much is in use.
type measures struct{ gcs, allocated, used uint64 }

// look takes in what was measured. It gives the percentage from now on, 0 for no change, and
// whether what is free goes back to the system.
func (t *thrift) look(m measures) (percent int, give bool) {
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

// keep collects garbage as thrift decides until ctx ends. GOGC says otherwise.
func (t *thrift) keep(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(restPercent)
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
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
