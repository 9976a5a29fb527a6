package bus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// rewatchTime is the pause between the loss of a watch and the next watch.
const rewatchTime = time.Second

// watching is the state of one Watch, or of one All: All ends when it is ready. When the underlying watch is
// lost, a new one begins. It reports only changes that were not reported before, and reports deleted keys as
// gone.
type watching struct {
	entry func(jetstream.KeyValueEntry) (fleet.Entry, bool)
	each  func(fleet.Entry)
	ready func() // nil after it was called
	// answered is called for each answer of the server, if it is not nil.
	answered func()
	known    map[string]uint64
	// newest returns the revision of the newest entry or deletion in the bucket, as its leader has it.
	newest func(context.Context) (uint64, error)
}

// Watch implements fleet.Store. It returns when ctx ends, with the error of ctx.
//
// In a cluster, a replica of the bucket can serve the watch before it has the newest writes. Then the library reports
// too early that all entries were delivered. So Watch first asks the leader of the bucket for the newest revision. It
// calls ready only when the watch has reached this revision.
func (s *store) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	w := &watching{entry: s.entry, each: each, ready: ready, known: map[string]uint64{},
		newest: s.newest}
	for {
		once, stop := s.renewed.within(ctx)
		if newest, err := s.newest(once); err == nil {
			if updates, err := s.kv.WatchAll(once); err == nil {
				w.follow(once, updates.Updates(), newest)
				_ = updates.Stop() // the connection may have ended, and the watch with it
			}
		}
		stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rewatchTime):
		}
	}
}

// newest returns the revision of the newest entry or deletion in the bucket, and 0 for an empty bucket.
func (s *store) newest(ctx context.Context) (uint64, error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, s.subject(">"))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return m.Sequence, nil
}

// follow reports the entries of one underlying watch until it ends. They are complete when the library reports it, and
// newest was reached. A record of a deletion expires, so follow reads newest again while it is not reached.
func (w *watching) follow(ctx context.Context, updates <-chan jetstream.KeyValueEntry, newest uint64) {
	seen, reached := map[string]bool{}, uint64(0)
	var again <-chan time.Time // not nil if the entries are complete only for the library
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-again:
			if now, err := w.newest(ctx); err == nil {
				newest = now
			}
			again = time.After(rewatchTime)
		case e, more := <-updates:
			switch {
			case !more:
				return
			case e == nil:
				again = time.After(rewatchTime) // the library reports it once
			default:
				if w.answered != nil {
					w.answered()
				}
				if reached = max(reached, e.Revision()); first {
					seen[e.Key()] = true
				}
				if entry, ok := w.entry(e); ok {
					w.tell(entry)
				}
			}
		}
		if first && again != nil && reached >= newest {
			w.complete(seen)
			first, again = false, nil
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
