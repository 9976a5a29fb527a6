package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// behind is a store whose reads are answered by a former leader that does not know its replacement
// yet. It has none of the keys. Writes need a majority, so they are correct.
type behind struct {
	*bustest.Store
	reads atomic.Int32 // so many more reads are answered by that server
	fails atomic.Int32 // so many more writes fail
}

func (b *behind) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if b.reads.Add(-1) >= 0 {
		return fleet.Entry{}, fmt.Errorf("cannot read %s: %w", key, fleet.ErrNotFound)
	}
	return b.Store.Get(ctx, key)
}

func (b *behind) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if b.fails.Add(-1) >= 0 {
		return 0, fleet.ErrNoAnswer
	}
	return b.Store.Update(ctx, key, value, rev)
}

// jobHub is the part of a hub that sends the job r1 to agents, with a store that can be behind.
type jobHub struct {
	*jobDispatcher
	store *behind
	far   *agents
}

func withJob(t *testing.T, test func(t *testing.T, h jobHub)) {
	synctest.Test(t, func(t *testing.T) {
		store := &behind{Store: bustest.NewStore()}
		m := newMirror(fleet.Store(store), "", parseJob)
		far := &agents{here: ids(1), asked: map[fleet.TargetID][]string{}, fail: map[fleet.TargetID]error{}}
		c := newJobDispatcher(m, far, time.Now, func(fleet.TargetID) bool { return false }, func(error) {})
		ctx, stop := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		ends.Go(func() { _ = m.follow(ctx) })
		ends.Go(func() { _ = c.gather(ctx) })
		ends.Go(func() { _ = c.remind(ctx) })
		r := Job{Job: fleet.Job{ID: "r1", What: fleet.JobVerify}, Pending: ids(2), Expires: time.Now().Add(time.Hour).Unix()}
		if err := m.put(ctx, "r1", r, 0); err != nil {
			t.Fatal(err)
		}
		test(t, jobHub{c, store, far})
		stop()
		ends.Wait()
	})
}

// forget removes a job from the mirror.
func (h jobHub) forget(id string) {
	synctest.Wait() // it is filled
	h.jobs.mu.Lock()
	defer h.jobs.mu.Unlock()
	delete(h.jobs.all, id)
}

// answers returns the durable answers.
func (h jobHub) answers(t *testing.T) int {
	t.Helper()
	e, err := h.store.Store.Get(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseJob(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Answers)
}

// A former leader of the store does not have the job. The answer to the job is not acknowledged
// before it is durable, because the agent then deletes it.
func TestAnswerWhileTheStoreIsBehind(t *testing.T) {
	for name, known := range map[string]bool{"in the mirror": true, "not in the mirror": false} {
		t.Run(name, func(t *testing.T) {
			withJob(t, func(t *testing.T, h jobHub) {
				if !known {
					h.forget("r1")
				}
				h.store.reads.Store(3)
				f := h.note("r1", ids(1)[0], JobAnswer{At: 1})
				<-f.done
				if n := h.answers(t); n != 1 && f.err == nil {
					t.Error("an answer is acknowledged that is not durable")
				}
				time.Sleep(time.Minute)
				if n := h.answers(t); n != 1 {
					t.Errorf("%d answers are durable later", n)
				}
			})
		})
	}
}

// A failed write of an answer is repeated without another answer.
func TestAnswerWhileTheStoreFails(t *testing.T) {
	withJob(t, func(t *testing.T, h jobHub) {
		h.store.fails.Store(2)
		h.note("r1", ids(1)[0], JobAnswer{At: 1})
		time.Sleep(time.Minute)
		if n := h.answers(t); n != 1 {
			t.Errorf("%d answers are durable", n)
		}
	})
}

// A message can be lost while its agent stays connected: the agent gets it again.
func TestLostQuestionOfAJob(t *testing.T) {
	withJob(t, func(t *testing.T, h jobHub) {
		h.far.mu.Lock()
		h.far.fail[ids(1)[0]] = context.DeadlineExceeded
		h.far.mu.Unlock()
		r, _, _ := h.jobs.get("r1")
		h.offer(t.Context(), r)
		synctest.Wait()
		h.far.mu.Lock()
		clear(h.far.fail)
		h.far.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if n := h.answers(t); n != 1 {
			t.Errorf("%d answers are durable", n)
		}
		synctest.Wait()
		h.far.mu.Lock()
		defer h.far.mu.Unlock()
		if asked := h.far.asked[ids(1)[0]]; len(asked) != 1 {
			t.Errorf("the agent was asked %d times after it answered", len(asked)-1)
		}
	})
}

// Neither the mirror nor the answering server has the job: only a write proves that it does not
// exist.
func TestAwaitedWhileTheStoreIsBehind(t *testing.T) {
	withJob(t, func(t *testing.T, h jobHub) {
		for id, want := range map[string]error{"r1": fleet.ErrConflict, "r2": nil} {
			h.forget(id)
			h.store.reads.Store(1)
			if waits, err := awaited(t.Context(), h.jobs, id, ids(1)[0], JobAnswer{}); waits || !errors.Is(err, want) {
				t.Errorf("%s: %v, %v", id, waits, err)
			}
		}
	})
}

// A mirror is never newer than the store: an older answer of the store is read again.
func TestMirrorOfAStoreThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &behind{Store: bustest.NewStore()}
		m := newMirror[int](fleet.Store(store), "", nil)
		if err := m.put(t.Context(), "a", 1, 0); err != nil {
			t.Fatal(err)
		}
		store.reads.Store(2)
		if v, err := m.change(t.Context(), "a", func(v *int) error { *v++; return nil }); err != nil || v != 2 {
			t.Errorf("%d, %v", v, err)
		}
		store.reads.Store(1 << 20)
		if _, err := m.change(t.Context(), "a", func(*int) error { return nil }); !errors.Is(err, fleet.ErrNoAnswer) {
			t.Errorf("without an end: %v", err)
		}
		m.accept(fleet.Entry{Key: "a", Rev: 9, Gone: true}, 0, nil)
		if _, err := m.change(t.Context(), "a", func(*int) error { return nil }); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("of a key that was removed: %v", err)
		}
	})
}

// The shared modules of assignments exist, and the answering server does not have them yet: the
// assignment is not omitted.
func TestSharedPartWhileTheStoreIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &behind{Store: bustest.NewStore()}
		part, err := (&sharedModules{store: store.Store}).put(t.Context(), fleet.Assigned{Revision: fleet.Revision{Commit: strings.Repeat("a", 40)}, Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat("b", 64), Size: 1}}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		store.reads.Store(2)
		c := &sharedModules{store: store}
		if _, err := c.get(t.Context(), part.digest, &lists{}); err != nil {
			t.Error(err)
		}
		if _, err := c.get(t.Context(), "d2", &lists{}); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("what does not exist: %v", err)
		}
	})
}

// An outdated mirror has the values that an agent exports now, and the store has earlier values:
// they are not acknowledged, because the agent does not repeat them.
func TestExportsWhileTheMirrorIsBehind(t *testing.T) {
	store := bustest.NewStore()
	h := &Hub{exports: newMirror[exportRecord](fleet.Store(store), "", nil)}
	if err := h.exports.put(t.Context(), "a", exportRecord{}, 0); err != nil {
		t.Fatal(err)
	}
	_, rev, _ := h.exports.get("a")
	if err := h.confirmExports(t.Context(), "a", rev); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := store.Put(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for id, rev := range map[fleet.TargetID]uint64{"a": rev, "b": 0} {
		if err := h.confirmExports(t.Context(), id, rev); !errors.Is(err, fleet.ErrConflict) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := h.confirmExports(t.Context(), "c", 0); err != nil {
		t.Error(err)
	}
}

// A hub that is missing in the list of an outdated server was not retired.
func TestEnlistWhileTheStoreIsBehind(t *testing.T) {
	store := &behind{Store: bustest.NewStore()}
	m := newMirror[Member](fleet.Store(store), memberPrefix, nil)
	own := Member{Name: "hub1"}
	for _, name := range []string{"hub1", "hub2"} {
		if err := newMirror[Member](store.Store, memberPrefix, nil).put(t.Context(), name, Member{Name: name}, 0); err != nil {
			t.Fatal(err)
		}
	}
	store.reads.Store(1)
	m.all["hub2"] = kept[Member]{Member{Name: "hub2"}, 1}
	if err := enlist(t.Context(), m, own, nil); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("while the store is behind: %v", err)
	}
	if err := enlist(t.Context(), m, own, nil); err != nil {
		t.Errorf("later: %v", err)
	}
}
