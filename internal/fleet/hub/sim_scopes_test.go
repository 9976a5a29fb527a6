package hub

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/scope"
)

// clustered returns a commit with the cluster web of at least two members, whose task has some content.
func clustered(content string) map[string]map[string]string {
	parts := simple("one")
	parts[""]["fettle.hcl"] += fmt.Sprintf("cluster \"web\" {\n  labels      = { role = \"web\" }\n  min_members = 2\n"+
		"  task \"load\" {\n    command  = [\"load\"]\n    triggers = { n = %q }\n  }\n}\n", content)
	return parts
}

// inCluster runs a test in a fleet of two hubs and two web servers, after they did the task of their cluster.
func inCluster(t *testing.T, job func(s *sim)) {
	inSim(t, 2, func(s *sim) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go s.followPresence(ctx)
		s.cluster(t)
		job(s)
	})
}

// cluster starts two web servers, which do the task of their cluster.
func (s *sim) cluster(t *testing.T) {
	s.site.commit("main", s.site.believed, clustered("first"))
	for range 2 {
		a, err := s.enrol(map[string]string{"role": "web"})
		if err != nil {
			t.Fatal(err)
		}
		a.start()
	}
	time.Sleep(10 * time.Minute)
	if v := s.verdict(); v != scope.Ready {
		t.Fatalf("the verdict is %s\n%s", v, s.story())
	}
}

// verdict returns the stored verdict of the cluster.
func (s *sim) verdict() scope.Verdict {
	f, _, _ := s.any().records.Scopes.Get("cluster/web")
	return f.State.Verdict.Verdict
}

func (s *sim) restart(between func()) {
	for _, h := range s.hubs {
		h.stop()
	}
	between()
	for _, h := range s.hubs {
		h.start()
	}
}

// TestMembersThatConnectAgain: hubs that start wait for members before the verdict of a cluster becomes worse.
func TestMembersThatConnectAgain(t *testing.T) {
	inCluster(t, func(s *sim) {
		s.restart(func() { s.agents[1].away.Store(true) })
		time.Sleep(100 * time.Second)
		if v := s.verdict(); v != scope.Ready {
			t.Errorf("the verdict is %s", v)
		}
		time.Sleep(time.Minute)
		if v := s.verdict(); v != scope.Failed {
			t.Errorf("the verdict is %s", v)
		}
	})
}

// TestTaskFailsAfterStart: a task that fails while members connect again makes the cluster failed at once.
func TestTaskFailsAfterStart(t *testing.T) {
	inCluster(t, func(s *sim) {
		s.failing.Store(true)
		s.site.commit("main", s.site.believed, clustered("second"))
		for range 600 {
			if s.task(t).Open != nil {
				break
			}
			time.Sleep(time.Second)
		}
		s.restart(func() {})
		time.Sleep(100 * time.Second)
		if v := s.verdict(); v != scope.Failed {
			t.Errorf("the verdict is %s\n%s", v, s.story())
		}
		kinds := map[assign.AlarmKind]bool{}
		for _, a := range scopes.Alarms(&s.any().records) {
			kinds[a.Kind] = true
		}
		if !kinds[assign.ScopeFailed] || !kinds[assign.TaskFailed] {
			t.Errorf("the alarms are %v", kinds)
		}
	})
}

// task returns the state of the task of the cluster.
func (s *sim) task(t *testing.T) document.ScopeTask {
	t.Helper()
	all, err := scopes.Service{Of: s.any().scopes}.Tasks(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// TestTaskAfterLoss: if targets prove that the hubs lost data, a task that may be done is unknown, and does not begin.
func TestTaskAfterLoss(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*sim)
		want document.TaskPhase
	}{
		"all data": {func(s *sim) { s.restore(newShelf()) }, document.TaskUnknown},
		"copy before the task": {func(s *sim) {
			copied := s.backup()
			s.site.commit("main", s.site.believed, clustered("second"))
			time.Sleep(10 * time.Minute)
			s.restore(copied)
		}, document.TaskUnknown},
		"copy after the task": {func(s *sim) {
			copied := s.backup()
			parts := clustered("first")
			parts["modules/web"]["more.txt"] = "more"
			s.site.commit("main", s.site.believed, parts)
			time.Sleep(10 * time.Minute)
			s.restore(copied)
		}, document.TaskDone},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(s *sim) {
				c.lose(s)
				time.Sleep(15 * time.Minute)
				is := s.task(t)
				if is.Phase != c.want || c.want == document.TaskUnknown && !is.Decide {
					t.Errorf("%+v\n%s", is, s.story())
				}
			})
		})
	}
}

// restore stops all hubs, replaces their store, and starts the hubs that were running.
func (s *sim) restore(k *shelf) {
	var ran []*simHub
	for _, h := range s.hubs {
		if h.stop != nil {
			ran = append(ran, h)
			h.stop()
		}
	}
	provers := s.withLost(k)
	s.mu.Lock()
	s.kept, s.lost, s.provers = k, uint64(time.Now().UnixMilli()), provers
	if s.judge != nil {
		s.judge.orders = map[string]fleetOrder{}
	}
	s.mu.Unlock()
	for _, h := range ran {
		h.start()
	}
}

// withLost returns the targets that have newer assignments than a store.
func (s *sim) withLost(k *shelf) map[fleet.TargetID]bool {
	out := map[fleet.TargetID]bool{}
	for _, a := range s.agents {
		has := fleet.Assignment{}
		if e, err := k.stores["assignments"].Get(context.Background(), string(a.id.ID)); err == nil {
			has, _ = k.unpacked(e.Value)
		}
		a.mu.Lock()
		out[a.id.ID] = has.Newer(fleet.Assignment{Epoch: a.high.Epoch, Generation: a.high.Generation}) < 0
		a.mu.Unlock()
	}
	return out
}
