package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// jobHub is the part of a hub that sends the job r1 to agents, with a store that can be behind.
type jobHub struct {
	*dispatcher
	store *bustest.Behind
	far   *agents
}

func withJob(t *testing.T, test func(t *testing.T, h jobHub)) {
	synctest.Test(t, func(t *testing.T) {
		store := &bustest.Behind{Store: bustest.NewStore()}
		m := records.NewMirror(fleet.Store(store), "", records.ParseJob)
		far := &agents{here: bustest.IDs(1), asked: map[fleet.TargetID][]string{}, fail: map[fleet.TargetID]error{}}
		c := newDispatcher(m, far, time.Now, func(records.Job, fleet.TargetID) bool { return false }, func(error) {})
		ctx, stop := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		ends.Go(func() { _ = m.Follow(ctx) })
		ends.Go(func() { _ = c.gather(ctx) })
		ends.Go(func() { _ = c.remind(ctx) })
		r := records.Job{Job: fleet.Job{ID: "r1", What: fleet.JobVerify}, Pending: bustest.IDs(2),
			Expires: time.Now().Add(time.Hour).Unix()}
		if err := m.Put(ctx, "r1", r, 0); err != nil {
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
	_, rev, _ := h.jobs.Get(id)
	h.jobs.Take(fleet.Entry{Key: id, Rev: rev + 1, Gone: true})
}

// answers returns the durable answers.
func (h jobHub) answers(t *testing.T) int {
	t.Helper()
	e, err := h.store.Store.Get(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	r, err := records.ParseJob(e.Value)
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
				h.store.Reads.Store(3)
				f := h.note("r1", bustest.IDs(1)[0], records.JobAnswer{At: 1})
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
		h.store.Fails.Store(2)
		h.note("r1", bustest.IDs(1)[0], records.JobAnswer{At: 1})
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
		h.far.fail[bustest.IDs(1)[0]] = context.DeadlineExceeded
		h.far.mu.Unlock()
		r, _, _ := h.jobs.Get("r1")
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
		if asked := h.far.asked[bustest.IDs(1)[0]]; len(asked) != 1 {
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
			h.store.Reads.Store(1)
			if waits, err := awaited(t.Context(), h.jobs, id, bustest.IDs(1)[0], records.JobAnswer{}); waits ||
				!errors.Is(err, want) {
				t.Errorf("%s: %v, %v", id, waits, err)
			}
		}
	})
}
