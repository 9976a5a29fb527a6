package pki_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// joiner accepts hubs, unless it fails.
type joiner struct {
	room, take error
	taken      []pki.JoinRequest
	by, key    string
	certs      func(j pki.JoinRequest) []byte
}

func (j *joiner) CheckRoom(context.Context, pki.JoinRequest, string) error { return j.room }

func (j *joiner) Certify(_ context.Context, joining pki.JoinRequest, key, by string) (pki.Welcome, error) {
	if j.take != nil {
		return pki.Welcome{}, j.take
	}
	j.taken, j.by, j.key = append(j.taken, joining), by, key
	return pki.Welcome{Fleet: "acme", Certificates: string(j.certs(joining)), Members: json.RawMessage(`[]`)}, nil
}

// welcoming returns a site where hubs can join.
func welcoming(t *testing.T) (*site, *joiner) {
	t.Helper()
	s := newSite(t, "acme")
	j := &joiner{certs: func(j pki.JoinRequest) []byte {
		certs, err := s.authority.Certify([]byte(j.Request), j.Name, j.Hosts, s.clock.now())
		if err != nil {
			t.Error(err)
		}
		return certs
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/hubs/join", func(w http.ResponseWriter, q *http.Request) { s.registrar.ServeJoin(w, q, j) })
	s.url = serve(t, mux, trustOf(t, s.hub, nil).ServerTLS(s.hub.TLS, s.clock.now))
	return s, j
}

func forAHub(terms *pki.Terms) { *terms = pki.Terms{Hub: true, Uses: 1, Expires: terms.Expires} }

func (s *site) joins(token pki.Token, name string) (pki.Welcome, *pki.Hub, error) {
	s.t.Helper()
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := s.host().Join(s.t.Context(), s.url, token, h,
		pki.JoinRequest{Name: name, Hosts: []string{"127.0.0.1"}, HubURLs: []string{"https://new"}})
	return w, h, err
}

// TestJoin: a hub joins with a token for hubs; its use is spent and recorded.
func TestJoin(t *testing.T) {
	s, j := welcoming(t)
	var noted []pki.AuditRecord
	s.registrar.Audit = func(_ context.Context, n pki.AuditRecord) error { noted = append(noted, n); return nil }
	token := s.token(forAHub)
	w, h, err := s.joins(token, "hub2")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Install([]byte(w.Certificates)); err != nil || w.Fleet != "acme" || string(w.Members) != "[]" {
		t.Errorf("%+v, %v", w, err)
	}
	if len(j.taken) != 1 || j.taken[0].Name != "hub2" || j.taken[0].HubURLs[0] != "https://new" ||
		j.by != "token "+token.ID || j.key == "" {
		t.Errorf("%+v", j)
	}
	if len(noted) != 1 || noted[0] != (pki.AuditRecord{By: "token " + token.ID, Operation: "hub", Text: "hub2 joins"}) {
		t.Errorf("%+v", noted)
	}
	if _, _, err := s.joins(token, "hub3"); err == nil || !strings.Contains(err.Error(), "spent") {
		t.Errorf("the token lets in another hub: %v", err)
	}
}

// TestJoinIsRefused: a request that is not permitted is refused before the token is used.
func TestJoinIsRefused(t *testing.T) {
	s, j := welcoming(t)
	wrong := s.token(forAHub)
	wrong.Secret[3] ^= 1
	for what, c := range map[string]struct {
		token      pki.Token
		name, says string
	}{
		"a token for targets": {s.token(nil), "hub2", "it is for targets"},
		"a wrong secret":      {wrong, "hub2", "does not know it"},
		"no name":             {s.token(forAHub), "", "name"},
		"a strange name":      {s.token(forAHub), "a b", "name"},
		"a name of no fleet":  {s.token(forAHub), "Hub2", ""},
	} {
		_, _, err := s.joins(c.token, c.name)
		if refusal, ok := errors.AsType[*pki.Refusal](err); !ok || refusal.Status >= 500 ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	token := s.token(forAHub)
	j.room = pki.Refuse(http.StatusConflict, "there is no room")
	if _, _, err := s.joins(token, "hub2"); err == nil || !strings.Contains(err.Error(), "there is no room") {
		t.Errorf("without room: %v", err)
	}
	j.room = nil
	s.registrar.Audit = func(context.Context, pki.AuditRecord) error { return pki.Refuse(http.StatusConflict, "no log") }
	if _, _, err := s.joins(s.token(forAHub), "hub2"); err == nil || !strings.Contains(err.Error(), "no log") {
		t.Errorf("without a note: %v", err)
	}
	s.registrar.Audit = nil
	if len(j.taken) > 0 {
		t.Errorf("%+v is taken", j.taken)
	}
	if _, _, err := s.joins(token, "hub2"); err != nil {
		t.Errorf("a refusal has spent the token: %v", err)
	}
}

// TestJoinStoreFaults: if the store fails while a hub joins, the error is the hub's, and the new
// hub can join with the same keys afterwards.
func TestJoinStoreFaults(t *testing.T) {
	s, j := welcoming(t)
	post := func(body []byte) (int, string) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hubs/join", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.RemoteAddr = "127.0.0.1:5"
		w := httptest.NewRecorder()
		s.registrar.ServeJoin(w, q, j)
		return w.Code, w.Body.String()
	}
	atEachFault(t, "joining", func(f *faults) error {
		h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
		if err != nil {
			t.Fatal(err)
		}
		request, err := h.Request()
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(pki.JoinRequest{Format: "fettle.joining/1", Token: s.token(forAHub).Text(),
			Request: string(request), Name: "hub2"})
		if err != nil {
			t.Fatal(err)
		}
		s.tokens.fail = f.next
		status, said := post(body)
		s.tokens.fail = nil
		if status == http.StatusOK {
			return nil
		}
		if status != http.StatusServiceUnavailable || strings.Contains(said, errFault.Error()) {
			t.Errorf("%d %s", status, said)
		}
		if status, said := post(body); status != http.StatusOK {
			t.Errorf("again: %d %s", status, said)
		}
		return errFault
	})
	j.take = errors.New("inside")
	for body, want := range map[string]int{`{"format":"fettle.joining/1"}`: http.StatusUnauthorized,
		`{"format":"fettle.joining/2"}`: http.StatusBadRequest, "{": http.StatusBadRequest,
		`{"format":"fettle.joining/1","token":"` + strings.Repeat("x", 16<<10) + `"}`: http.StatusBadRequest} {
		if status, said := post([]byte(body)); status != want || !strings.Contains(said, `"error":"cannot `) {
			t.Errorf("%.60s: %d %s", body, status, said)
		}
	}
}

// TestAnswersToJoin: certificates of a different fleet CA than the token's are refused, and so are
// answers that are not from a hub.
func TestAnswersToJoin(t *testing.T) {
	s, j := welcoming(t)
	other := newAuthority(t, "acme")
	right := j.certs
	for what, certs := range map[string]func(pki.JoinRequest) []byte{
		"another fleet CA": func(j pki.JoinRequest) []byte {
			out, err := other.Certify([]byte(j.Request), j.Name, nil, start())
			if err != nil {
				t.Error(err)
			}
			return out
		},
		"no certificates": func(pki.JoinRequest) []byte { return nil },
		"no PEM":          func(pki.JoinRequest) []byte { return []byte("-----BEGIN") },
	} {
		j.certs = certs
		if _, _, err := s.joins(s.token(forAHub), "hub2"); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	j.certs = right
	answers := map[string]func(w http.ResponseWriter){
		"another status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) },
		"not JSON":       func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
		"another format": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"format":"fettle.welcome/2"}`)) },
	}
	for what, answer := range answers {
		s.url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }),
			trustOf(t, s.hub, nil).ServerTLS(s.hub.TLS, s.clock.now))
		if _, _, err := s.joins(s.token(forAHub), "hub2"); err == nil {
			t.Errorf("%s is taken", what)
		} else if _, theirs := errors.AsType[*pki.Refusal](err); theirs {
			t.Errorf("%s is a refusal: %v", what, err)
		}
	}
	dials := 0
	client := s.host()
	client.Dial = func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, errors.New("no route to host")
	}
	if _, err := client.Join(t.Context(), s.url, s.token(forAHub), newHub(t, other, "hub2"),
		pki.JoinRequest{Name: "hub2"}); err == nil || dials != 1 {
		t.Errorf("a hub that never answered is asked %d times: %v", dials, err)
	}
	// Join retries while a hub restarts.
	asked := 0
	s.url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"it begins anew"}`))
			return
		}
		s.registrar.ServeJoin(w, q, j)
	}), trustOf(t, s.hub, nil).ServerTLS(s.hub.TLS, s.clock.now))
	if _, _, err := s.joins(s.token(forAHub), "hub2"); err != nil || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
