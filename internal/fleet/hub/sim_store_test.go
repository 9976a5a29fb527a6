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

// many is how many agents there are where it is about their number.
func many(few int) int {
	if os.Getenv("FETTLE_LONG") != "" {
		return 1000
	}
	return few
}

// populate enrols agents and waits until all are as the branch says.
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

// become tells how many agents are what a commit says.
func (s *sim) become(r *revision) int {
	want := map[string]fleet.Bundle{"": r.bundle(""), "modules/base": r.bundle("modules/base"), "modules/web": r.bundle("modules/web")}
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

// within waits until all agents are what the branch says, and gives how long it took.
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

// A store that is restored from an old backup while the repository went on: no number is
// given twice, and all become what the repository says.
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

// A view that is made again from a log that was cut off has all of each target soon, though
// nothing happens there, and nobody is asked twice.
func TestViewOfACutLog(t *testing.T) {
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
			if bytes.Contains(r, []byte("asked by hub")) {
				asked++
			}
		}
		if asked > len(s.agents) {
			t.Errorf("%d agents were asked %d times", len(s.agents), asked)
		}
	})
}

// A store that is deleted with a fleet at work: the hub reads the repository, agents say
// who they are and what they have, and nothing is given twice.
func TestLostStore(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, many(20))
		s.restore(newShelf())
		s.site.commit("main", s.site.believed, simple("two"))
		t.Logf("%d agents are as the branch says after %s", len(s.agents), s.within(t, 2*time.Minute, "after the store was lost"))
		targets := s.any().targets.values()
		if len(targets) != len(s.agents) {
			t.Errorf("the registry has %d of %d targets", len(targets), len(s.agents))
		}
	})
}

// All hubs are away for a day, and longer than a certificate lasts: machines stay as they
// are, and two polls after the hubs are back all are what the repository says.
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
		t.Logf("%d agents are as the branch says after %s", len(s.agents), s.within(t, 10*time.Minute, "after the hubs were back"))
	})
}
