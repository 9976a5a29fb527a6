package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// delivered is an entry that a replica delivers. A watch uses no other methods.
type delivered struct {
	jetstream.KeyValueEntry
	key  string
	rev  uint64
	gone bool
}

func (d delivered) Key() string      { return d.key }
func (d delivered) Revision() uint64 { return d.rev }
func (d delivered) Value() []byte    { return nil }
func (d delivered) Operation() jetstream.KeyValueOp {
	if d.gone {
		return jetstream.KeyValuePurge
	}
	return jetstream.KeyValuePut
}

// watched follows the deliveries of a watch, and records its reports. Revision 0 means that the library reports all
// entries as delivered.
type watched struct {
	t       *testing.T
	updates chan jetstream.KeyValueEntry
	leader  atomic.Uint64 // the newest revision that the leader has now
	seen    []string
}

func (w *watched) start(ctx context.Context, known map[string]uint64) {
	w.updates = make(chan jetstream.KeyValueEntry)
	x := &watching{known: known, ready: func() { w.seen = append(w.seen, "ready") },
		newest: func(context.Context) (uint64, error) { return w.leader.Load(), nil },
		entry: func(e jetstream.KeyValueEntry) (fleet.Entry, bool) {
			return fleet.Entry{Key: e.Key(), Rev: e.Revision()}, true
		},
		each: func(e fleet.Entry) { w.seen = append(w.seen, fmt.Sprintf("%s=%d gone %v", e.Key, e.Rev, e.Gone)) }}
	go x.follow(ctx, w.updates, w.leader.Load())
}

func (w *watched) deliver(key string, rev uint64) {
	if rev == 0 {
		w.updates <- nil
	} else {
		w.updates <- delivered{key: key, rev: rev}
	}
	synctest.Wait()
}

func (w *watched) want(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.seen, want) {
		w.t.Errorf("it reports %q, want %q", w.seen, want)
	}
}

// TestWatchOfALaggingReplica: a replica that lacks the newest writes of the bucket reports that all entries
// were delivered. The watch is ready only with the newest entry of the leader. Until then, no known entry
// counts as deleted.
func TestWatchOfALaggingReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w := &watched{t: t}
		w.leader.Store(7)
		w.start(ctx, map[string]uint64{"old": 5, "removed": 3})
		w.deliver("", 0)
		w.want()
		w.deliver("old", 5)
		w.want()
		w.deliver("new", 7)
		w.want("new=7 gone false", "removed=3 gone true", "ready")
		w.deliver("new", 8)
		w.want("new=7 gone false", "removed=3 gone true", "ready", "new=8 gone false")
	})
}

// TestWatchUntilARecordExpires: the newest message of the bucket was the record of a deletion, and expired before the
// watch reached it.
func TestWatchUntilARecordExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w := &watched{t: t}
		w.leader.Store(9)
		w.start(ctx, map[string]uint64{})
		w.deliver("a", 4)
		w.deliver("", 0)
		w.want("a=4 gone false")
		w.leader.Store(4)
		time.Sleep(2 * rewatchTime) // virtual time
		synctest.Wait()
		w.want("a=4 gone false", "ready")
	})
}

// replica is a replica of a bucket that delivers what the test sends.
type replica struct {
	jetstream.KeyValue
	updates chan jetstream.KeyValueEntry
}

func (r replica) Bucket() string                          { return "b" }
func (r replica) Updates() <-chan jetstream.KeyValueEntry { return r.updates }
func (r replica) Stop() error                             { return nil }

func (r replica) WatchAll(context.Context, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return r, nil
}

// replicated is the stream of the same bucket. leader is the newest revision that its leader has.
type replicated struct {
	jetstream.Stream
	leader *atomic.Uint64
}

func (r replicated) GetLastMsgForSubject(context.Context, string) (*jetstream.RawStreamMsg, error) {
	return &jetstream.RawStreamMsg{Sequence: r.leader.Load()}, nil
}

// TestAllOfALaggingReplica: All waits for a replica that lacks the newest writes of the bucket. If it does not get
// them, it fails.
func TestAllOfALaggingReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var leader atomic.Uint64
		leader.Store(7)
		r := replica{updates: make(chan jetstream.KeyValueEntry, 9)}
		s := &store{kv: r, stream: replicated{leader: &leader}, name: "b"}
		r.updates <- delivered{key: "b", rev: 4}
		r.updates <- delivered{key: "a", rev: 5}
		r.updates <- nil
		var all []fleet.Entry
		var err error
		answers := 0
		ask := func() { all, err = s.all(ctx, func() { answers++ }) }
		go ask()
		synctest.Wait()
		if all != nil || err != nil {
			t.Fatalf("before the newest entry: %+v %v", all, err)
		}
		r.updates <- delivered{key: "b", rev: 6, gone: true}
		r.updates <- delivered{key: "a", rev: 7}
		synctest.Wait()
		if err != nil || len(all) != 1 || all[0].Key != "a" || all[0].Rev != 7 || answers != 5 {
			t.Errorf("all is %+v %v after %d answers", all, err, answers)
		}
		leader.Store(8)
		r.updates <- delivered{key: "a", rev: 7}
		r.updates <- nil
		if ask(); !errors.Is(err, context.DeadlineExceeded) || all != nil {
			t.Errorf("without the newest entry: %+v %v", all, err)
		}
	})
}
