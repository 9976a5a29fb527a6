package hub

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
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
		s.restart(func() {
			s.failing.Store(true)
			s.site.commit("main", s.site.believed, clustered("second"))
		})
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
