package waits

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/query"
)

func send(payload string) fleet.WaitRequest {
	return fleet.WaitRequest{Action: fleet.SendSignal, Name: "start", Payload: payload}
}

func TestSignals(t *testing.T) {
	s := newSite(t)
	a, b := s.hub(), s.hub()
	kim := api.Caller{Principal: access.Principal{Name: "kim"}}
	wait := fleet.WaitRequest{Action: fleet.WaitSignal, Name: "start"}
	s.ask(a, 1, wait, "cannot find the signal start")
	s.declare(a, schema)
	s.ask(a, 1, wait, `{"why":"the signal start was not sent"}`)
	s.ask(a, 1, send("v1"), `{"why":"the target db1 cannot send the signal start"}`)
	s.ask(a, 0, send("v1"), `{"done":true}`)
	s.ask(a, 0, send(strings.Repeat("x", fleet.MaxPayload+1)), "cannot send a payload")
	s.ask(b, 1, wait, `{"done":true,"payload":"v1"}`)
	s.now = noon.Add(time.Minute)
	recent := wait
	recent.Age = int64(59 * time.Second)
	s.ask(b, 1, recent, `was not sent`)
	recent.Age = int64(time.Minute)
	s.ask(b, 1, recent, `"done":true`)
	if err := (Service{b}).SendSignal(t.Context(), kim, route.SignalName{Signal: "start"},
		document.SignalRequest{Payload: "v2"}); err != nil {
		t.Error(err)
	}
	s.ask(a, 1, wait, `"payload":"v2"`)
	wantSent(s, a, "db0 v1, kim v2, ")
	s.ask(a, 0, send("v1"), `{"done":true}`) // a repetition
	wantSent(s, b, "kim v2, db0 v1, ")
	s.now = noon.Add(time.Minute + time.Hour)
	s.ask(a, 1, wait, `was not sent`)
	s.declare(a, schema)
	s.ask(a, 0, send("v3"), `"done":true`)
	if err := (Service{a}).ClearSignal(t.Context(), kim, route.SignalName{Signal: "start"},
		document.ReasonRequest{Reason: "it was wrong"}); err != nil {
		t.Error(err)
	}
	s.ask(b, 1, wait, `was not sent`)
	for _, want := range []string{"signal start: declared; kept for 1h", "signal start: sent", "signal start: repeated",
		"signal start: 1 sent signals were removed: it was wrong"} {
		if text := s.texts(); !strings.Contains(text, want) || strings.Contains(text, "v1") {
			t.Errorf("no event %q, or a payload in\n%s", want, text)
		}
	}
	s.declare(a, query.Coordination{})
	s.ask(b, 1, wait, `the`)
	s.ask(b, 0, send("v3"), `"why":"`)
}

// wantSent waits until the list of a hub has the sent signals. Its mirror follows the store.
func wantSent(s *site, w *Waits, want string) {
	s.Helper()
	bustest.Await(s.T, "the list is not "+want, func() bool {
		all, err := Service{w}.Signals(s.Context())
		if err != nil || len(all.Signals) != 1 {
			return false
		}
		out := ""
		for _, x := range all.Signals[0].Sent {
			out += x.Sender + " " + x.Payload + ", "
		}
		return out == want
	})
}

// TestRefusedUsers: a request of a user that cannot succeed names the reason.
func TestRefusedUsers(t *testing.T) {
	s := newSite(t)
	w := s.hub()
	s.declare(w, schema)
	kim, long := api.Caller{Principal: access.Principal{Name: "kim"}}, strings.Repeat("x", fleet.MaxPayload+1)
	for status, err := range map[int][]error{
		404: {Service{w}.SendSignal(t.Context(), kim, route.SignalName{Signal: "other"},
			document.SignalRequest{}),
			Service{w}.ClearSignal(t.Context(), kim, route.SignalName{Signal: "../x"},
				document.ReasonRequest{Reason: "why"})},
		api.BadRequest: {Service{w}.SendSignal(t.Context(), kim, route.SignalName{Signal: "start"},
			document.SignalRequest{Payload: long}),
			Service{w}.ClearSignal(t.Context(), kim, route.SignalName{Signal: "start"},
				document.ReasonRequest{Reason: long})},
	} {
		for _, err := range err {
			refused := (*api.Refusal)(nil)
			if !errors.As(err, &refused) || refused.Status != status {
				t.Errorf("%v, want %d", err, status)
			}
		}
	}
}
