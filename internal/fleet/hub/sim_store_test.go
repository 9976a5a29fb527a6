package hub

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// many is the number of agents in tests of large numbers.
func many(few int) int {
	if os.Getenv("FETTLE_LONG") != "" {
		return 1000
	}
	return few
}

// populate enrols agents and waits until all have the configuration of the branch.
func (s *sim) populate(t *testing.T, n int) {
	t.Helper()
	for range n {
		a, err := s.enrol(map[string]string{"role": "web"})
		if err != nil {
			t.Fatal(err)
		}
		a.start()
	}
	s.within(t, 5*time.Minute, "the beginning")
}

// become counts the agents with the configuration of a commit.
func (s *sim) become(r *revision) int {
	want := map[string]fleet.Bundle{"": r.bundle(""), "modules/base": r.bundle("modules/base"),
		"modules/web": r.bundle("modules/web")}
	n := 0
	for _, a := range s.agents {
		a.mu.Lock()
		if a.ready && maps.Equal(a.stands, want) {
			n++
		}
		a.mu.Unlock()
	}
	return n
}

// within waits until all agents have the configuration of the branch, and returns the elapsed time.
func (s *sim) within(t *testing.T, most time.Duration, what string) time.Duration {
	t.Helper()
	r := s.site.of(s.site.branches["main"])
	for began := time.Now(); ; time.Sleep(time.Second) {
		synctest.Wait()
		if n := s.become(r); n == len(s.agents) {
			return time.Since(began)
		} else if time.Since(began) > most {
			t.Errorf("%s: after %s %d of %d agents are what the branch says\n%s", what, most, n, len(s.agents), s.story())
			return most
		}
	}
}

// A store is restored from an old backup after further commits: no number is used twice, and all
// agents get the configuration of the repository.
func TestOldBackup(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, many(4))
		old := s.backup()
		s.site.commit("main", s.site.believed, simple("two"))
		s.within(t, 5*time.Minute, "what the backup does not know")
		s.hubs[0].stop()
		s.site.commit("main", s.site.believed, simple("three"))
		s.restore(old)
		s.hubs[0].start()
		t.Logf("as the branch says after %s", s.within(t, 5*time.Minute, "after the backup was restored"))
	})
}

// A read model that is created again from a truncated log soon has the whole state of each target,
// although no target changes, and no target is asked twice.
func TestViewOfATruncatedLog(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 4)
		s.hubs[0].stop()
		s.kept.log.Cut()
		if err := view.Remove(filepath.Join(s.hubs[0].dir(), "view.db")); err != nil {
			t.Fatal(err)
		}
		s.hubs[0].start()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		lacks, err := s.any().view.ReportGaps(context.Background())
		if err != nil || len(lacks) != 0 {
			t.Errorf("%d of %d lack something, %v", len(lacks), len(s.agents), err)
		}
		for _, a := range s.agents {
			d, err := s.any().view.Target(context.Background(), a.name, time.Now())
			if err != nil || d.Target.State != document.Ready || len(d.Modules) != 2 || d.Modules[0].State != fleet.ModuleReady {
				t.Errorf("%+v, %v", d, err)
			}
		}
		time.Sleep(time.Hour)
		asked := 0
		for _, r := range s.kept.log.Records() {
			if bytes.Contains(r, []byte("requested by hub")) {
				asked++
			}
		}
		if asked > len(s.agents) {
			t.Errorf("%d agents were asked %d times", len(s.agents), asked)
		}
	})
}

// The store of a working fleet is deleted: the hub reads the repository, agents send their
// identities and assignments, and no number is used twice.
func TestLostStore(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, many(20))
		s.restore(newShelf())
		s.site.commit("main", s.site.believed, simple("two"))
		t.Logf("%d agents are as the branch says after %s", len(s.agents),
			s.within(t, 2*time.Minute, "after the store was lost"))
		targets := s.any().records.Targets.Values()
		if len(targets) != len(s.agents) {
			t.Errorf("the registry has %d of %d targets", len(targets), len(s.agents))
		}
	})
}

// All hubs are down for a day, longer than a certificate is valid: hosts do not change, and two
// polls after the hubs are back, all have the configuration of the repository.
func TestHubsAwayForADay(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		one := s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, many(5))
		s.hubs[0].stop()
		s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if n := s.become(one); n != len(s.agents) {
			t.Errorf("%d of %d machines are as they were", n, len(s.agents))
		}
		s.hubs[0].start()
		t.Logf("%d agents are as the branch says after %s", len(s.agents),
			s.within(t, 10*time.Minute, "after the hubs were back"))
	})
}
