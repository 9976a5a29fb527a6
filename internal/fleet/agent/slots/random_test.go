package slots

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// TestHistories: of 20 hosts, at most two work at the same time, while runs and agents are killed, hubs are lost, and
// time passes. A host works until its run ends, or until the run is stopped because of its lease.
func TestHistories(t *testing.T) {
	h := newHub(coordination.Free, 2, "a")
	var working, done, stopped, most atomic.Int64
	var all sync.WaitGroup
	var workers []*worker
	for i := range 20 {
		w := &worker{target: newTarget(t, h, fmt.Sprint("web", i)), rng: rand.New(rand.NewPCG(uint64(i), 1))}
		workers = append(workers, w)
		all.Go(func() {
			for n := 0; n < 5; {
				r := w.run()
				r.Clock = w.clock
				s, err := r.Acquire(t.Context(), []string{"a"}, func(string) {})
				if err != nil {
					continue
				}
				n++
				w.begin()
				most.Store(max(most.Load(), working.Add(1)))
				if w.work(s) {
					stopped.Add(1)
				}
				working.Add(-1)
				w.end(r, s)
				done.Add(1)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	passTime(h, workers, ended)
	if most.Load() != 2 || stopped.Load() == 0 {
		t.Errorf("%d hosts worked at the same time; %d of %d runs were stopped", most.Load(), stopped.Load(), done.Load())
	}
	await(t, "the slots are free", func() bool { return h.owners("a") == "" })
}

// worker is a target with runs. looked and worked are the times at which its client and its run last looked at the
// clock, in ms.
type worker struct {
	*target
	rng            *rand.Rand
	works          atomic.Bool
	looked, worked atomic.Int64
}

func (w *worker) clock() time.Duration {
	now := w.hub.clock()
	w.looked.Store(now.Milliseconds())
	return now
}

// begin begins the work of a run.
func (w *worker) begin() {
	w.worked.Store(w.hub.now.Load())
	w.busy.Store(true)
	w.works.Store(true)
}

// work works, with faults, and reports whether the leases were about to end.
func (w *worker) work(s executor.Slots) bool {
	switch w.rng.IntN(3) {
	case 0:
		w.stop()
		w.start()
	case 1:
		w.away.Store(true)
	}
	for range w.rng.IntN(150) {
		now := w.hub.now.Load()
		select {
		case <-s.Lost():
			return true
		default:
			w.worked.Store(now)
			time.Sleep(time.Millisecond)
		}
	}
	return false
}

// end ends a run: it is done, or its process is killed and the next command recovers it.
func (w *worker) end(r run, s executor.Slots) {
	w.works.Store(false)
	if w.rng.IntN(3) == 0 {
		r.killed()
	}
	w.busy.Store(false)
	w.away.Store(false)
	s.Release()
}

// passTime advances the clock until ended is closed. It waits for processes that did not look at it for a long
// time: they are not slower than the margin.
func passTime(h *hub, workers []*worker, ended chan struct{}) {
	for {
		now := h.now.Load()
		late := false
		for _, w := range workers {
			late = late || w.works.Load() && now-min(w.looked.Load(), w.worked.Load()) > 30_000
		}
		if !late {
			h.now.Add(2_000)
		}
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
