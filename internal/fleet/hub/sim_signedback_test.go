package hub

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// permit returns a permit for a commit and all targets.
func (s *sim) permit(r *revision) string {
	text := string(content.Permit{Repository: "site", Commit: r.info.Commit, Targets: []string{"*"},
		Expires: simBegin.AddDate(10, 0, 0).Unix()}.Text())
	return text + sshSignIn(s.site.believed, content.PermitNamespace, text)
}

// rollsBack orders a rollback of all parts.
func (s *sim) rollsBack(t *testing.T, r *revision, permit string) string {
	t.Helper()
	done, err := s.any().fleetRollbacks().RollBackFleet(context.Background(), api.Caller{Principal: ann},
		document.FleetRollbackRequest{Part: "all", To: r.info.Commit, Permit: permit})
	if err != nil {
		t.Fatal(err)
	}
	return done.Text
}

// are waits until all agents have a commit.
func (s *sim) are(t *testing.T, r *revision, what string) {
	t.Helper()
	for range 60 {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.become(r) == len(s.agents) {
			return
		}
	}
	t.Errorf("%s: %d of %d agents have the commit\n%s", what, s.become(r), len(s.agents), s.story())
}

// Agents that require signed commits return to their content before within the time that their host permits. For older
// content, and always with require_descent, they need a permit. The permit ends no protection: newer content of the
// branch is accepted afterwards, and older content is not.
func TestSignedFleetRollback(t *testing.T) {
	for name, d := range map[string]content.Descent{
		"signed":  {Signed: true, Return: content.ReturnTime},
		"descent": {Signed: true, Descends: true},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 1, func(s *sim) {
				s.descent = d
				first := s.site.commit("main", s.site.believed, simple("first"))
				s.populate(t, 2)
				second := s.site.commit("main", s.site.believed, simple("second"))
				s.within(t, 5*time.Minute, "the second commit")
				third := s.site.commit("main", s.site.believed, simple("third"))
				s.within(t, 5*time.Minute, "the third commit")
				s.rollsBack(t, second, "")
				if d.Descends {
					s.stays(t, third, "this target had a newer one")
					s.rollsBack(t, second, s.permit(second))
				}
				s.are(t, second, "the commit before")
				s.rollsBack(t, first, "")
				s.stays(t, second, "this target had a newer one")
				if got := s.rollsBack(t, first, s.permit(first)); !strings.HasPrefix(got, "Held") {
					t.Errorf("the same order with a permit: %s", got)
				}
				s.are(t, first, "the permitted commit")
				if _, err := s.any().fleetRollbacks().ReleaseFleet(context.Background(), api.Caller{Principal: ann},
					document.FleetReleaseRequest{Part: "all"}); err != nil {
					t.Error(err)
				}
				s.are(t, third, "the branch after the release")
				s.site.commit("main", s.site.believed, simple("fourth"))
				s.within(t, 5*time.Minute, "the fourth commit")
			})
		})
	}
}

// If the first target of a rollout refuses the content of a rollback, the rollout fails and all targets keep their
// content. The same order with a permit begins again.
func TestSignedFleetRollbackInWaves(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.descent = content.Descent{Signed: true, Return: content.ReturnTime}
		careful := func(text string) map[string]map[string]string {
			parts := simple(text)
			parts[""]["fettle.hcl"] = strings.Replace(parts[""]["fettle.hcl"], atOnce, "", 1)
			return parts
		}
		first := s.site.commit("main", s.site.believed, careful("first"))
		s.populate(t, 3)
		for _, text := range []string{"second", "third"} {
			s.site.commit("main", s.site.believed, careful(text))
			s.within(t, 10*time.Minute, text)
			time.Sleep(10 * time.Minute) // the rollout has ended, and this content is the one directly before the next
		}
		third := s.site.of(s.site.branches["main"])
		s.rollsBack(t, first, "")
		time.Sleep(30 * time.Minute)
		s.are(t, third, "after the refusal")
		if got := s.rollsBack(t, first, s.permit(first)); !strings.Contains(got, "they failed with this content: r4") {
			t.Errorf("the same order with a permit: %s", got)
		}
		s.are(t, first, "the permitted commit")
	})
}

// A permit that no target accepts is refused.
func TestWrongPermitsOfFleetRollbacks(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		first := s.site.commit("main", s.site.believed, simple("first"))
		s.populate(t, 1)
		second := s.site.commit("main", s.site.believed, simple("second"))
		s.within(t, 5*time.Minute, "the second commit")
		for want, r := range map[string]document.FleetRollbackRequest{
			"for the commit":      {To: first.info.Commit, Permit: s.permit(second)},
			"a permit is for one": {To: "stable", Permit: s.permit(second)},
			"it is not signed":    {To: first.info.Commit, Permit: "abc"},
		} {
			r.Part = "all"
			_, err := s.any().fleetRollbacks().RollBackFleet(context.Background(), api.Caller{Principal: ann}, r)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	})
}
