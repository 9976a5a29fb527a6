package hub

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/sample"
)

// history returns all ancestors of all commits, unless the test replaces it.
func (s *site) history(_ context.Context, _ string, _ content.Source, commit string,
	accepted []string) ([]byte, error) {
	s.mu.Lock()
	hostile := s.hostile
	s.mu.Unlock()
	raws := s.ancestors(append(accepted, commit)...)
	if hostile != nil {
		var err error
		if raws, err = hostile(raws); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	w := content.NewHistoryWriter(&b)
	for _, raw := range raws {
		if err := w.Add(raw); err != nil {
			return nil, err
		}
	}
	err := w.End()
	return b.Bytes(), err
}

// ancestors returns the objects of commits and of all their ancestors, without duplicates.
func (s *site) ancestors(ids ...string) (raws [][]byte) {
	seen := map[string]bool{}
	for len(ids) > 0 {
		id := ids[0]
		ids = ids[1:]
		r := s.of(id)
		if r == nil || seen[id] {
			continue
		}
		seen[id] = true
		raws = append(raws, r.raw)
		for line := range strings.Lines(string(r.raw)) {
			if parent, ok := strings.CutPrefix(strings.TrimSpace(line), "parent "); ok {
				ids = append(ids, parent)
			}
		}
	}
	return raws
}

// reset moves a branch, like a forced push; "" starts it again.
func (s *site) reset(branch, commit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branches[branch] = commit
}

func (s *site) deliver(hostile func([][]byte) ([][]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hostile = hostile
}

// inRange runs a test with agents that require signed commits and descent, and that have the first
// commit.
func inRange(t *testing.T, do func(s *sim, first *revision)) {
	t.Helper()
	inSim(t, 1, func(s *sim) {
		s.descent = content.Descent{Signed: true, Descends: true}
		first := s.site.commit("main", s.site.believed, simple("first"))
		s.populate(t, 2)
		s.within(t, 5*time.Minute, "the first commit")
		do(s, first)
	})
}

// stays checks that all agents keep a commit and report a reason.
func (s *sim) stays(t *testing.T, r *revision, reason string) {
	t.Helper()
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	if n := s.have(r); n != len(s.agents) {
		t.Errorf("%d of %d agents keep the accepted commit\n%s", n, len(s.agents), s.story())
	}
	if s.tells(`"kind":"refused"`, reason) == 0 {
		t.Errorf("no agent reports %q\n%s", reason, s.story())
	}
}

// An agent accepts a signed history, and no commit above an unsigned one, although the last commit
// is signed. A new signed commit does not help; a permit does.
func TestEveryCommitIsSigned(t *testing.T) {
	inRange(t, func(s *sim, _ *revision) {
		s.site.commit("main", s.site.believed, simple("second"))
		third := s.site.commit("main", s.site.believed, simple("third"))
		s.within(t, 5*time.Minute, "signed commits")
		s.site.commit("main", nil, simple("pushed by a stolen password"))
		s.site.commit("main", s.site.believed, simple("above it"))
		s.stays(t, third, "which is new in its history since")
		last := s.site.commit("main", s.site.believed, simple("and another"))
		s.stays(t, third, "fettle target pin")
		s.allow(t, last)
		s.within(t, 10*time.Minute, "the permitted commit")
		s.site.commit("main", s.site.believed, simple("after it"))
		s.unpin(t)
		s.within(t, 10*time.Minute, "a commit above the permitted one")
	})
}

// A rewritten branch is refused, also if each commit is signed and newer.
func TestRewrittenBranch(t *testing.T) {
	for name, to := range map[string]func(first *revision) string{
		"an older commit":  func(first *revision) string { return first.info.Commit },
		"no common commit": func(*revision) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			inRange(t, func(s *sim, first *revision) {
				second := s.site.commit("main", s.site.believed, simple("second"))
				s.within(t, 5*time.Minute, "the second commit")
				s.site.reset("main", to(first))
				last := s.site.commit("main", s.site.believed, simple("rewritten"))
				s.stays(t, second, "does not show that it descends from")
				s.allow(t, last)
				s.within(t, 10*time.Minute, "the permitted commit")
			})
		})
	}
}

// A hostile hub omits, replaces, cuts or invents commits. Agents keep their commit, and accept the
// next one from an honest hub.
func TestHostileHubDeliversHistories(t *testing.T) {
	for name, c := range map[string]struct {
		hostile func([][]byte) ([][]byte, error)
		reason  string
	}{
		"it omits a commit": {func(raws [][]byte) ([][]byte, error) { return raws[:1], nil }, "did not deliver a commit"},
		"it replaces a commit": {func(raws [][]byte) ([][]byte, error) {
			out := [][]byte{raws[0]}
			for _, raw := range raws[1:] {
				out = append(out, append(bytes.Clone(raw), '\n'))
			}
			return out, nil
		}, "did not deliver a commit"},
		"it delivers nothing": {func([][]byte) ([][]byte, error) { return nil, nil },
			"did not deliver a commit"},
		"it delivers no commits": {func([][]byte) ([][]byte, error) { return [][]byte{[]byte("tree")}, nil },
			"cannot be read"},
		"it does not have the commit": {func([][]byte) ([][]byte, error) { return nil, repo.ErrNoCommit },
			"does not deliver the history"},
		"it says that the history is long": {func([][]byte) ([][]byte, error) { return nil, repo.ErrLongHistory },
			"too many commits"},
	} {
		t.Run(name, func(t *testing.T) {
			inRange(t, func(s *sim, first *revision) {
				s.site.deliver(c.hostile)
				s.site.commit("main", s.site.believed, simple("second"))
				s.site.commit("main", s.site.believed, simple("third"))
				s.stays(t, first, c.reason)
				s.site.deliver(nil)
				s.site.commit("main", s.site.believed, simple("fourth"))
				s.within(t, 30*time.Minute, "an honest hub")
			})
		})
	}
}

// A hub that cannot read the repository now is asked again, without a refusal.
func TestHistoryIsNotReady(t *testing.T) {
	inRange(t, func(s *sim, first *revision) {
		s.site.deliver(func([][]byte) ([][]byte, error) { return nil, errors.New("no route to the git server") })
		s.site.commit("main", s.site.believed, simple("second"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s.have(first) != len(s.agents) || s.tells(`"kind":"refused"`) > 0 {
			t.Errorf("%d agents stay; %d refusals", s.have(first), s.tells(`"kind":"refused"`))
		}
		s.site.deliver(nil)
		s.within(t, 30*time.Minute, "when the git server is back")
	})
}

// A hub of an earlier version has no histories. The agent names the side to upgrade.
func TestHubWithoutHistories(t *testing.T) {
	inRange(t, func(s *sim, first *revision) {
		s.oldHub.Store(true)
		s.site.commit("main", s.site.believed, simple("second"))
		s.stays(t, first, "Upgrade the hub")
		s.oldHub.Store(false)
	})
}

// A history that takes long delays only the agents that require it.
func TestHistoriesDelayNoOtherAgent(t *testing.T) {
	inRange(t, func(s *sim, first *revision) {
		lax := s.agents[1]
		lax.lax.Store(true)
		ready := make(chan struct{})
		s.site.deliver(func(raws [][]byte) ([][]byte, error) { <-ready; return raws, nil })
		second := s.site.commit("main", s.site.believed, simple("second"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s.have(first) != 1 || s.have(second) != 1 || s.tells(`"kind":"refused"`) > 0 {
			t.Errorf("%d have the first commit, and %d the second\n%s", s.have(first), s.have(second), s.story())
		}
		close(ready)
		s.within(t, 30*time.Minute, "when the history is there")
	})
}

// descent is the requirement of an agent.
func (a *simAgent) descent() (content.Descent, error) {
	if a.lax.Load() {
		return content.Descent{}, nil
	}
	return a.sim.descent, nil
}

// Accepted commits survive crashes: an agent that restarts refuses a rewritten branch.
func TestAcceptedCommitsSurviveACrash(t *testing.T) {
	inRange(t, func(s *sim, first *revision) {
		second := s.site.commit("main", s.site.believed, simple("second"))
		s.within(t, 5*time.Minute, "the second commit")
		for _, a := range s.agents {
			a.crash()
		}
		s.site.reset("main", first.info.Commit)
		s.site.commit("main", s.site.believed, simple("rewritten"))
		for _, a := range s.agents {
			a.start()
		}
		s.stays(t, second, "does not show that it descends from")
	})
}

// withoutHistories serves like an earlier version while oldHub is set.
func (s *sim) withoutHistories(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.oldHub.Load() && strings.HasPrefix(r.URL.Path, content.HistoryPath) {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allow pins all agents to a commit, with a permit.
func (s *sim) allow(t *testing.T, r *revision) {
	t.Helper()
	s.site.reset(r.info.Commit, r.info.Commit)
	text := string(content.Permit{Repository: "site", Commit: r.info.Commit, Targets: []string{"*"},
		Expires: time.Now().Add(time.Hour).Unix()}.Text())
	permit := text + sshSignIn(s.site.believed, content.PermitNamespace, text)
	for _, a := range s.agents {
		if err := s.any().targets.Pin(context.Background(), ann, a.id.ID,
			fleet.Pin{Ref: r.info.Commit, Reason: "reviewed", Permit: permit}); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *sim) unpin(t *testing.T) {
	t.Helper()
	for _, a := range s.agents {
		if err := s.any().targets.Unpin(context.Background(), ann, a.id.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent returns to the content that it had before, within the time that its host permits, and
// only to this content. A return does not lower the minimum time of commits.
func TestReturn(t *testing.T) {
	sample.Group(t, 1, 9)
	inSim(t, 1, func(s *sim) {
		s.descent = content.Descent{Signed: true, Return: content.ReturnTime}
		first := s.site.commit("main", s.site.believed, simple("first"))
		s.populate(t, 2)
		s.within(t, 5*time.Minute, "the first commit")
		second := s.site.commit("main", s.site.believed, simple("second"))
		s.within(t, 5*time.Minute, "the second commit")
		s.site.reset("main", first.info.Commit)
		s.within(t, 5*time.Minute, "the return to the first commit")
		for _, a := range s.agents {
			a.crash()
			a.start()
		}
		s.within(t, 5*time.Minute, "the first commit after a restart")
		s.site.reset("main", second.info.Commit)
		s.within(t, 5*time.Minute, "the second commit again")
		third := s.site.commit("main", s.site.believed, simple("third"))
		s.within(t, 5*time.Minute, "the third commit")
		s.site.reset("main", first.info.Commit)
		s.stays(t, third, "this target had a newer one")
		s.site.reset("main", third.info.Commit)
		s.within(t, 10*time.Minute, "the third commit again")
		time.Sleep(content.ReturnTime)
		s.site.reset("main", second.info.Commit)
		s.stays(t, third, "this target had a newer one")
	})
}
