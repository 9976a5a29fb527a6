package hub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// simple returns a commit in which role web has base and web, and role db has base and db.
func simple(text string) map[string]map[string]string {
	return map[string]map[string]string{
		"": {"fettle.hcl": `
target_group "all" {
  labels  = {}
  modules = ["base"]
}
target_group "web" {
  labels  = { role = "web" }
  modules = ["web"]
}
target_group "db" {
  labels  = { role = "db" }
  modules = ["db"]
}
policy { rollout = "at-once" }
# ` + text + "\n"},
		"modules/base": {"module.hcl": "file \"/etc/base\" { content = \"" + text + "\" }\n"},
		"modules/web": {"module.hcl": "needs \"base\" { level = \"version\" }\nfile \"/etc/web\" { content = \"" + text +
			"\" }\n"},
		"modules/db": {"module.hcl": "needs \"base\" {}\nfile \"/etc/db\" { content = \"" + text + "\" }\n"},
	}
}

// inSim runs a test in its own fleet, in virtual time.
func inSim(t *testing.T, hubs int, job func(s *sim)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newSim(hubs)
		if err != nil {
			t.Fatal(err)
		}
		defer s.end()
		for _, h := range s.hubs {
			h.start()
		}
		job(s)
		if len(s.wrong) > 0 {
			t.Errorf("%v\n%s", s.wrong, s.story())
		}
	})
}

// A commit reaches a host, and its result reaches the view of the hub.
func TestSimulation(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		r := s.site.commit("main", s.site.believed, simple("one"))
		a, err := s.enrol(map[string]string{"role": "web"})
		if err != nil {
			t.Fatal(err)
		}
		a.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if a.stands["modules/web"] != r.bundle("modules/web") || !a.ready {
			t.Errorf("it stands %v, %+v\n%s", a.stands, a.status, s.story())
		}
		d, err := s.any().view.Target(context.Background(), a.name, time.Now())
		if err != nil || d.Target.State != document.Ready {
			t.Errorf("%+v, %v", d.Target, err)
		}
	})
}
