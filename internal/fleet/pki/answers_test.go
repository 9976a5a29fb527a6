package pki_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// TestAnswersToTargets: the status of each answer to a target that renews or sends revocations. A request that the hub
// does not understand changes nothing.
func TestAnswersToTargets(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	fact, err := pki.Revocation{Serial: "1f", Fleet: "acme", At: 1, By: "ada"}.Sign(s.hub.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	facts, err := json.Marshal(pki.Renewal{Format: "fettle.renewal/1", Revocations: [][]byte{fact}})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	young := &pki.Registrar{Hub: bare, Now: s.clock.now}
	good := `{"format":"fettle.renewal/1"}`
	shown := &tls.ConnectionState{PeerCertificates: i.Chain()}
	for what, c := range map[string]struct {
		serve  http.HandlerFunc
		tls    *tls.ConnectionState
		body   string
		status int
	}{
		"a renewal":                     {s.registrar.ServeRenew, shown, good, 200},
		"no certificate to renew":       {s.registrar.ServeRenew, nil, good, 401},
		"not JSON":                      {s.registrar.ServeRenew, shown, "{", 400},
		"another format":                {s.registrar.ServeRenew, shown, `{"format":"fettle.renewal/2"}`, 400},
		"the largest renewal":           {s.registrar.ServeRenew, shown, good + strings.Repeat(" ", 1<<10-len(good)), 200},
		"too large":                     {s.registrar.ServeRenew, shown, good + strings.Repeat(" ", 1<<10-len(good)+1), 400},
		"a hub without certificates":    {young.ServeRenew, shown, good, 503},
		"revocations":                   {s.registrar.ServeRevocations, shown, string(facts), 204},
		"no certificate, revocations":   {s.registrar.ServeRevocations, nil, string(facts), 403},
		"revocations, not JSON":         {s.registrar.ServeRevocations, shown, "{", 400},
		"revocations of another format": {s.registrar.ServeRevocations, shown, `{"format":"x"}`, 400},
		"a hub without any, revocation": {young.ServeRevocations, shown, string(facts), 503},
	} {
		q := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		q.TLS = c.tls
		w := httptest.NewRecorder()
		c.serve(w, q)
		if w.Code != c.status || (w.Code >= 400) != strings.HasPrefix(w.Body.String(), `{"error":"cannot `) ||
			w.Code == 204 && w.Body.Len() > 0 {
			t.Errorf("%s: %d %.80s", what, w.Code, w.Body)
		}
	}
	if n := len(s.registrar.Revocations.All()); n != 1 {
		t.Errorf("%d revocations count", n)
	}
	if got := s.target(i.ID); len(got.Serials) != 3 {
		t.Errorf("the target has the certificates %v", got.Serials)
	}
}
