package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
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

func ids(n int) []fleet.TargetID {
	var out []fleet.TargetID
	for i := range n {
		out = append(out, fleet.TargetID(fmt.Sprintf("target%02d", i)))
	}
	return out
}

// Each target gets each job once, offline targets when they connect, and the store contains the
// answers.
func TestJobsReachEachAgentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := ids(20)
		far := &agents{here: all[:15], asked: map[fleet.TargetID][]string{}, fail: map[fleet.TargetID]error{all[3]: fleet.ErrOffline, all[4]: errors.New("broken")}}
		var failed []error
		store := bustest.NewStore()
		m := newMirror[Job](store, "", nil)
		c := newJobDispatcher(m, far, time.Now, func(fleet.TargetID) bool { return false }, func(err error) { failed = append(failed, err) })
		ctx, stop := context.WithCancel(t.Context())
		m.changed = func(_ string, r Job, _ uint64, _ bool) { c.offer(ctx, r) }
		var ends sync.WaitGroup
		ends.Go(func() { _ = m.follow(ctx) })
		ends.Go(func() { _ = c.gather(ctx) })
		r := Job{Job: fleet.Job{ID: "r1", What: "apply"}, Pending: slices.Clone(all), Expires: time.Now().Add(time.Hour).Unix()}
		if err := m.put(ctx, "r1", r, 0); err != nil {
			t.Fatal(err)
		}
		settle := func() Job {
			synctest.Wait()
			time.Sleep(2 * gatherFor)
			synctest.Wait()
			r, _, _ := m.get("r1")
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
	r := Job{Pending: ids(2), Expires: 10}
	if !r.open(9) || r.open(10) {
		t.Error("a job does not end")
	}
	r.answered(map[fleet.TargetID]JobAnswer{"target00": {At: 1}, "stranger": {At: 1}})
	r.answered(map[fleet.TargetID]JobAnswer{"target00": {At: 2}})
	if len(r.Answers) != 1 || r.Answers["target00"].At != 1 || len(r.Pending) != 1 {
		t.Errorf("%+v", r)
	}
}

// A mirror accepts newer entries, reports unreadable ones, and removes deleted ones.
func TestMirror(t *testing.T) {
	store := bustest.NewStore()
	m := newMirror[int](store, "n/", nil)
	var told []string
	m.changed = func(key string, v int, _ uint64, gone bool) { told = append(told, fmt.Sprint(key, v, " ", gone)) }
	m.take(fleet.Entry{Key: "other/a", Value: []byte("1"), Rev: 1})
	m.take(fleet.Entry{Key: "n/a", Value: []byte("1"), Rev: 2})
	m.take(fleet.Entry{Key: "n/a", Value: []byte("0"), Rev: 1}) // late
	m.take(fleet.Entry{Key: "n/b", Value: []byte("?"), Rev: 3})
	if got := m.values(); len(got) != 1 || got[0] != 1 || len(m.unreadable()) != 1 {
		t.Errorf("%v, %v", got, m.unreadable())
	}
	m.take(fleet.Entry{Key: "n/b", Value: []byte("2"), Rev: 4})
	m.take(fleet.Entry{Key: "n/a", Rev: 5, Gone: true})
	if got := m.values(); len(got) != 1 || got[0] != 2 || len(m.unreadable()) != 0 {
		t.Errorf("%v, %v", got, m.unreadable())
	}
	if want := []string{"a1 false", "b2 false", "a0 true"}; !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	if err := m.put(t.Context(), "c", 7, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.put(t.Context(), "c", 8, 0); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("%v", err)
	}
	if v, err := m.change(t.Context(), "c", func(v *int) error { *v++; return nil }); err != nil || v != 8 {
		t.Errorf("%d, %v", v, err)
	}
}
