package pki_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestTokenOfTwoHubs: a hub that uses its token while the token is changed still joins.
func TestTokenOfTwoHubs(t *testing.T) {
	s, j := welcoming(t)
	token := s.token(forAHub)
	s.tokens.fail = once("update", fleet.ErrConflict, func() { s.tokens.set(token.ID, s.tokens.all[token.ID].Value) })
	if _, _, err := s.joins(token, "hub2"); err != nil || len(j.taken) != 1 {
		t.Errorf("%d hubs join, %v", len(j.taken), err)
	}
}

// TestTokenIsWithdrawnOnce: withdrawing a token again changes nothing, also in the audit log.
func TestTokenIsWithdrawnOnce(t *testing.T) {
	s := newSite(t, "acme")
	token := s.token(nil)
	noted := 0
	s.registrar.Audit = func(context.Context, pki.AuditRecord) error { noted++; return nil }
	var texts [][]byte
	for range 2 {
		if err := s.registrar.WithdrawToken(t.Context(), token.ID, "ada"); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, s.tokens.all[token.ID].Value)
		s.clock.forward(time.Hour)
	}
	if noted != 1 || !bytes.Equal(texts[0], texts[1]) {
		t.Errorf("%d records, %q", noted, texts)
	}
}

// TestUnreadableRequestsCount: an address that sends unreadable requests learns no longer why its token is refused.
func TestUnreadableRequestsCount(t *testing.T) {
	wrong, err := json.Marshal(map[string]string{"format": "fettle.joining/1", "token": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		serve func(s *site, j *joiner) http.HandlerFunc
		wrong string
	}{
		"enrol": {func(s *site, _ *joiner) http.HandlerFunc { return s.registrar.ServeEnrol },
			strings.Replace(string(wrong), "joining", "enrolment", 1)},
		"join": {func(s *site, j *joiner) http.HandlerFunc {
			return func(w http.ResponseWriter, q *http.Request) { s.registrar.ServeJoin(w, q, j) }
		}, string(wrong)},
	} {
		s, j := welcoming(t)
		post := func(body string) int {
			w := httptest.NewRecorder()
			c.serve(s, j)(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
			return w.Code
		}
		if got := post(c.wrong); got != http.StatusUnauthorized {
			t.Errorf("%s: the first wrong token: %d", what, got)
		}
		for range 19 {
			if got := post("{"); got != http.StatusBadRequest {
				t.Errorf("%s: an unreadable request: %d", what, got)
			}
		}
		if got := post(c.wrong); got != http.StatusTooManyRequests {
			t.Errorf("%s: a wrong token at last: %d", what, got)
		}
	}
}
