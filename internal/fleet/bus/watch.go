package bus

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// rewatchTime is the pause between the loss of a watch and the next watch.
const rewatchTime = time.Second

// watching is the state of one Watch. When the underlying watch is lost, a new one begins. It
// reports only changes that were not reported before, and reports deleted keys as gone.
type watching struct {
	entry func(jetstream.KeyValueEntry) (fleet.Entry, bool)
	each  func(fleet.Entry)
	ready func() // nil after it was called
	known map[string]uint64
}

// Watch implements fleet.Store. It returns when ctx ends, with the error of ctx.
func (s *store) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	w := &watching{entry: s.entry, each: each, ready: ready, known: map[string]uint64{}}
	for {
		once, stop := s.renewed.within(ctx)
		if updates, err := s.kv.WatchAll(once); err == nil {
			w.follow(once, updates.Updates())
			_ = updates.Stop() // the connection may have ended, and the watch with it
		}
		stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rewatchTime):
		}
	}
}

// follow reports the entries of one underlying watch until it ends.
func (w *watching) follow(ctx context.Context, updates <-chan jetstream.KeyValueEntry) {
	seen := map[string]bool{}
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case e, more := <-updates:
			switch {
			case !more:
				return
			case e == nil:
				w.complete(seen)
				first = false
			default:
				if first {
					seen[e.Key()] = true
				}
				if entry, ok := w.entry(e); ok {
					w.tell(entry)
				}
			}
		}
	}
}

// tell reports an entry if it is new.
func (w *watching) tell(e fleet.Entry) {
	before, known := w.known[e.Key]
	if e.Rev <= before || e.Gone && !known && w.ready != nil {
		return
	}
	if e.Gone {
		delete(w.known, e.Key)
	} else {
		w.known[e.Key] = e.Rev
	}
	w.each(e)
}

// complete is called when all existing keys have been reported.
func (w *watching) complete(seen map[string]bool) {
	var gone []string
	for key := range w.known {
		if !seen[key] {
			gone = append(gone, key)
		}
	}
	slices.SortFunc(gone, strings.Compare)
	for _, key := range gone {
		w.each(fleet.Entry{Key: key, Rev: w.known[key], Gone: true})
		delete(w.known, key)
	}
	if w.ready != nil {
		w.ready()
		w.ready = nil
	}
}
