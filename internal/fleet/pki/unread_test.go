package pki_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
)

// endless is a body that counts the bytes that are read.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read += len(b)
	return len(b), nil
}

func (e *endless) Close() error { return nil }

// The hub reads nothing of a client without a certificate, and only little of a client that may
// have a token.
func TestStrangersAreNotReadFor(t *testing.T) {
	s := newSite(t, "acme")
	routes := map[string]struct {
		serve http.HandlerFunc
		most  int
	}{
		"/v1/renew": {s.registrar.ServeRenew, 0},
		"/v1/facts": {s.registrar.ServeRevocations, 0},
		"/v1/enrol": {s.registrar.ServeEnrol, 16 << 10},
		"/v1/hubs/join": {func(w http.ResponseWriter,
			q *http.Request) {
			s.registrar.ServeJoin(w, q, pki.HubRegistry(nil))
		}, 32 << 10},
	}
	for path, route := range routes {
		body := &endless{}
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil)
		q.Body = body
		w := httptest.NewRecorder()
		route.serve(w, q)
		if w.Code < 400 || w.Code >= 500 || body.read > route.most {
			t.Errorf("%s answers %d, after it read %d bytes; %d are the most", path, w.Code, body.read, route.most)
		}
	}
}
