package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// agents are the connected agents of a hub, with the jobs that they got.
type agents struct {
	mu    sync.Mutex
	here  []fleet.TargetID
	asked map[fleet.TargetID][]string
	fail  map[fleet.TargetID]error
}

func (a *agents) Serve(string, func(context.Context, fleet.TargetID, []byte) ([]byte, error)) error {
	return nil
}

func (a *agents) Ask(_ context.Context, to fleet.TargetID, _ string, body []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fail[to]; err != nil {
		return nil, err
	}
	var job fleet.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	a.asked[to] = append(a.asked[to], job.ID)
	return json.Marshal(fleet.JobAnswer{ID: job.ID})
}

func (a *agents) Tell(fleet.TargetID, string, []byte) error { return nil }

func (a *agents) Open(context.Context, fleet.TargetID, string, []byte) (io.ReadWriteCloser, error) {
	return nil, fleet.ErrOffline
}
func (a *agents) Connected() []fleet.TargetID        { return a.here }
func (a *agents) IsConnected(id fleet.TargetID) bool { return slices.Contains(a.here, id) }

func (a *agents) Presence(func(fleet.TargetID, bool)) {}
func (a *agents) Kick(fleet.TargetID)                 {}

// Each target gets each job once, offline targets when they connect, and the store contains the
// answers.
func TestJobsReachEachAgentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := bustest.IDs(20)
		far := &agents{here: all[:15], asked: map[fleet.TargetID][]string{},
			fail: map[fleet.TargetID]error{all[3]: fleet.ErrOffline, all[4]: errors.New("broken")}}
		var failed []error
		store := bustest.NewStore()
		m := records.NewMirror[records.Job](store, "", nil)
		c := newDispatcher(m, far, time.Now, func(records.Job, fleet.TargetID) bool { return false },
			func(err error) { failed = append(failed, err) })
		ctx, stop := context.WithCancel(t.Context())
		m.Changed = func(_ string, r records.Job, _ uint64, _ bool) { c.offer(ctx, r) }
		var ends sync.WaitGroup
		ends.Go(func() { _ = m.Follow(ctx) })
		ends.Go(func() { _ = c.gather(ctx) })
		r := records.Job{Job: fleet.Job{ID: "r1", What: "apply"}, Pending: slices.Clone(all),
			Expires: time.Now().Add(time.Hour).Unix()}
		if err := m.Put(ctx, "r1", r, 0); err != nil {
			t.Fatal(err)
		}
		settle := func() records.Job {
			synctest.Wait()
			time.Sleep(2 * gatherFor)
			synctest.Wait()
			r, _, _ := m.Get("r1")
			return r
		}
		if r := settle(); len(r.Answers) != 13 || len(r.Pending) != 7 {
			t.Fatalf("%d answers, %d pending", len(r.Answers), len(r.Pending))
		}
		far.fail = nil
		for _, id := range all { // connecting targets get their missed jobs, and other targets none
			c.deliver(ctx, id)
		}
		if r := settle(); len(r.Answers) != 20 || len(r.Pending) != 0 {
			t.Fatalf("%d answers, %d pending", len(r.Answers), len(r.Pending))
		}
		for id, asked := range far.asked {
			if len(asked) != 1 {
				t.Errorf("%s was asked %d times", id, len(asked))
			}
		}
		if len(failed) == 0 {
			t.Error("nobody was told of the agent that answers nonsense")
		}
		stop()
		ends.Wait()
	})
}

func TestCompletedJobs(t *testing.T) {
	r := records.Job{Pending: bustest.IDs(2), Expires: 10}
	if !r.Open(9) || r.Open(10) {
		t.Error("a job does not end")
	}
	r.Answered(map[fleet.TargetID]records.JobAnswer{"target00": {At: 1}, "stranger": {At: 1}})
	r.Answered(map[fleet.TargetID]records.JobAnswer{"target00": {At: 2}})
	if len(r.Answers) != 1 || r.Answers["target00"].At != 1 || len(r.Pending) != 1 {
		t.Errorf("%+v", r)
	}
}
