package hub

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/waits"
	"fettle.dev/fettle/internal/fleet/route"
)

// Targets wait at a barrier of the repository. A member that is retired, frozen or offline no longer counts. A signal
// of a user reaches each hub.
func TestBarrierOfTargetsThatLeave(t *testing.T) {
	inSim(t, 3, func(s *sim) {
		parts := simple("one")
		parts[""]["fettle.hcl"] += "\nbarrier \"schema\" {\n  labels = { role = \"web\" }\n" +
			"  offline_after = \"10m\"\n}\nsignal \"start\" {}\n"
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go s.followPresence(ctx)
		s.site.commit("main", s.site.believed, parts)
		var agents []*simAgent
		for range 5 {
			a, err := s.enrol(map[string]string{"role": "web"})
			if err != nil {
				t.Fatal(err)
			}
			a.start()
			agents = append(agents, a)
		}
		s.wait(5 * time.Minute)
		ask := func(a *simAgent, r fleet.WaitRequest) (out fleet.WaitAnswer) {
			t.Helper()
			body, err := json.Marshal(r)
			if err == nil {
				body, err = s.any().waits.OnWait(t.Context(), a.id.ID, body)
			}
			if err == nil {
				err = json.Unmarshal(body, &out)
			}
			if err != nil {
				t.Error(err)
			}
			return out
		}
		arrive := fleet.WaitRequest{Action: fleet.WaitArrive, Name: "schema", Run: "r1"}
		ask(agents[0], arrive)
		if a := ask(agents[1], arrive); a.Done || a.Why != "2 of 5 required members have arrived at the barrier schema" {
			t.Errorf("two of five members: %+v", a)
		}
		if err := s.any().targets.Retire(context.Background(), ann, agents[2].id.ID, "sold"); err != nil {
			t.Fatal(err)
		}
		s.wait(2 * waits.TidyEvery)
		if a := ask(agents[0], arrive); a.Why != "2 of 4 required members have arrived at the barrier schema" {
			t.Errorf("after a member was retired: %+v", a)
		}
		err := s.any().targets.Freeze(context.Background(), ann, agents[3].id.ID, document.FreezeRequest{Reason: "fire"})
		if err != nil {
			t.Fatal(err)
		}
		agents[4].crash()
		s.wait(11 * time.Minute)
		ask(agents[0], arrive)
		ask(agents[1], arrive)
		for _, a := range agents[:2] {
			if got := ask(a, arrive); !got.Done || got.Generation != 1 {
				t.Errorf("after the last member is offline: %+v", got)
			}
		}
		err = waits.Service{Of: s.any().waits}.SendSignal(t.Context(), api.Caller{Principal: ann},
			route.SignalName{Signal: "start"}, document.SignalRequest{Payload: "v2"})
		if err != nil {
			t.Fatal(err)
		}
		if a := ask(agents[0], fleet.WaitRequest{Action: fleet.WaitSignal, Name: "start"}); !a.Done || a.Payload != "v2" {
			t.Errorf("after the signal: %+v", a)
		}
	})
}
