package pki_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestStoreIsAway: a host or hub whose token the hub cannot read is told to try again, and not that its token is wrong,
// also if the store fails after another host has used the token.
func TestStoreIsAway(t *testing.T) {
	for what, fail := range map[string]func() func(op, key string) error{
		"at once": func() func(op, key string) error {
			return func(op, _ string) error {
				if op == "get" {
					return errFault
				}
				return nil
			}
		},
		"after a conflict": func() func(op, key string) error {
			conflict := false
			return func(op, _ string) error {
				switch {
				case op == "update":
					conflict = true
					return fleet.ErrConflict
				case conflict:
					return errFault
				}
				return nil
			}
		},
	} {
		s, _ := welcoming(t)
		hubs, hosts := s.token(forAHub), s.token(nil)
		s.tokens.fail = fail()
		post := func(serve http.HandlerFunc, body []byte) int {
			w := httptest.NewRecorder()
			serve(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))))
			return w.Code
		}
		if got := post(s.registrar.ServeEnrol, mustJSON(t, pki.EnrolmentFor(t, hosts, "web1"))); got != 503 {
			t.Errorf("%s: a host: %d", what, got)
		}
		s.tokens.fail = fail()
		h, err := pki.OpenHub(s.host().Directory.FS, "/hub")
		if err != nil {
			t.Fatal(err)
		}
		request, err := h.Request()
		if err != nil {
			t.Fatal(err)
		}
		body := mustJSON(t, pki.JoinRequest{Format: "fettle.joining/1", Token: hubs.Text(), Request: string(request),
			Name: "hub2"})
		join := func(w http.ResponseWriter, q *http.Request) { s.registrar.ServeJoin(w, q, &joiner{}) }
		if got := post(join, body); got != 503 {
			t.Errorf("%s: a hub: %d", what, got)
		}
	}
}

// TestUnknownFields: a request with a field that the hub does not know is refused, because the field can be a limit.
func TestUnknownFields(t *testing.T) {
	s, j := welcoming(t)
	for format, serve := range map[string]http.HandlerFunc{
		"fettle.joining/1":   func(w http.ResponseWriter, q *http.Request) { s.registrar.ServeJoin(w, q, j) },
		"fettle.enrolment/1": s.registrar.ServeEnrol,
	} {
		for fields, want := range map[string]int{"": 401, `,"x":1`: 400} {
			w := httptest.NewRecorder()
			serve(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"format":"`+format+`"`+fields+"}")))
			if w.Code != want {
				t.Errorf("%s with %q: %d", format, fields, w.Code)
			}
		}
	}
}

// TestRevocationsOfHubs: agents receive the revocations of hubs in one order, without those of targets.
func TestRevocationsOfHubs(t *testing.T) {
	s := newSite(t, "acme")
	for _, name := range []string{"hub/hub2", "hub/hub3", "hub/hub4", "target/" + someTarget} {
		if err := s.registrar.Revoke(t.Context(), pki.Revocation{Name: "fettle://acme/" + name, By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 { // the order of a map is random
		got := s.registrar.Revocations.OfHubs()
		if len(got) != 3 || !slices.IsSortedFunc(got, slices.Compare) {
			t.Fatalf("%q", got)
		}
	}
}

// mustJSON returns a value as JSON.
func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
