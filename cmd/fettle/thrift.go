package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"fettle.dev/fettle/internal/host/local"
)

// How much memory a hub may use beside what it needs, in percent of that: at rest most of it
// is of agents that rest too, and a hub that works collects all the time with so little.
const (
	restPercent = 20
	workPercent = 100
)

// lookEvery is how often thrift looks, and a span is so many looks. So many collections since
// the last span are work, at whatever look they are seen, since a hub at rest collects all the
// time when it begins to work; fewer in a span are enough for work that goes on, and calm
// after so many spans without is rest. Then memory that is free goes back to the system, and
// pages of this program that were only read: some times one after the other, since the stacks
// of connections shrink by half with each, and again after giveEvery spans. Go collects as
// often by itself, and gives nothing back.
const (
	lookEvery = 200 * time.Millisecond
	span      = 10
	workGCs   = 4
	stillGCs  = 2
	calmSpans = 10
	giveTimes = 4
	giveEvery = 60
)

// thrift decides about the memory of a hub. The zero value rests.
type thrift struct {
	gcs   uint64 // at the end of the last span
	looks int    // since then
	calm  int    // spans without work; below calmSpans it works
	busy  bool
}

// look takes in how many collections there were. It gives the percentage from now on, 0 for
// no change, and whether what is free goes back to the system.
func (t *thrift) look(gcs uint64) (percent int, give bool) {
	n := gcs - t.gcs
	if t.looks++; t.looks < span && n < workGCs {
		return 0, false
	}
	t.gcs, t.looks, t.calm = gcs, 0, t.calm+1
	if n >= workGCs || t.busy && n >= stillGCs {
		t.calm = 0
	}
	switch {
	case !t.busy && t.calm == 0:
		t.busy = true
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
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindUint64 {
			continue
		}
		percent, give := t.look(sample[0].Value.Uint64())
		if percent > 0 {
			debug.SetGCPercent(percent)
		}
		if give {
			debug.FreeOSMemory()
			_ = local.Shed() // they are only a little room
		}
	}
}
