package hub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// tells counts the reports of agents that contain all texts.
func (s *sim) tells(texts ...string) (n int) {
	for _, r := range s.kept.log.Records() {
		if !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(string(r), t) }) {
			n++
		}
	}
	return n
}

// have counts the agents with the parts of a commit, whatever their reports are.
func (s *sim) have(r *revision) (n int) {
	want := map[string]fleet.Bundle{"": r.bundle(""), "modules/base": r.bundle("modules/base"),
		"modules/web": r.bundle("modules/web")}
	for _, a := range s.agents {
		a.mu.Lock()
		if maps.Equal(a.stands, want) {
			n++
		}
		a.mu.Unlock()
	}
	return n
}

// forge records an assignment of a hostile hub.
func (s *sim) forge(a fleet.Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %d.%d", a.Target, a.Epoch, a.Generation)
	s.intended[key] = append(s.intended[key], a)
}

// A hub that renames the repository cannot make an agent go back: it signs an assignment with the
// older commit, another name and the highest number.
func TestHubThatRenamesTheRepository(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 1)
		a, run := s.agents[0], s.any()
		old := s.newest(a.id.ID)
		two := s.site.commit("main", s.site.believed, simple("two"))
		s.within(t, 5*time.Minute, "the second commit")
		for i, name := range []string{"site", "renamed"} {
			next := old
			next.Modules = append([]fleet.Assigned(nil), old.Modules...)
			next.Generation = s.newest(a.id.ID).Generation + 5*uint64(i+1)
			next.Root.Revision.Repository = name
			for m := range next.Modules {
				next.Modules[m].Revision.Repository = name
			}
			envelope, err := fleet.Sign(next.Marshal(), fleet.AssignmentType, run.keys.SigningKey())
			if err != nil {
				t.Fatal(err)
			}
			s.forge(next)
			if err := run.exchange.Tell(a.id.ID, fleet.MessageAssigned, envelope); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			// The honest part of this hub assigns the newer commit again, so its reports count.
			forged := fmt.Sprintf("generation %d.%d", next.Epoch, next.Generation)
			if s.have(two) != 1 || s.tells(`"kind":"applied"`, forged) > 0 {
				t.Errorf("as %q: the agent went back", name)
			}
			if n := s.tells(`"kind":"refused"`, "needs a permit"); n != i+1 {
				t.Errorf("as %q: %d refusals were reported", name, n)
			}
		}
	})
}

// A git server gives an honest hub a commit of another project, signed by a trusted key. The agents
// of the fleet do not change.
func TestGitServerGivesAnotherProject(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		one := s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 2)
		s.site.foreign("main", s.site.believed, simple("another project"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := s.have(one); n != 2 {
			t.Errorf("%d of 2 agents are what their repository said", n)
		}
		if s.tells("does not name its fleet") == 0 {
			t.Error("nobody was told")
		}
		s.site.commit("main", s.site.believed, simple("another project"))
		s.within(t, 5*time.Minute, "the same content, for this fleet")
	})
}
