package pki_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
)

// TestJoinFromNowhere: a request without the address of a client is refused, because failures count by address.
func TestJoinFromNowhere(t *testing.T) {
	s, j := welcoming(t)
	q := httptest.NewRequest(http.MethodPost, "/v1/hubs/join", strings.NewReader(`{"format":"fettle.joining/1"}`))
	q.RemoteAddr = "nowhere"
	w := httptest.NewRecorder()
	s.registrar.ServeJoin(w, q, j)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "cannot determine the address") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestJoinDuringARestart: a hub that asked to wait can be unreachable for a moment. A new hub asks again until its time
// is over.
func TestJoinDuringARestart(t *testing.T) {
	s, j := welcoming(t)
	j.room = pki.Refuse(http.StatusServiceUnavailable, "it begins again")
	client, dials := s.host(), 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch dials++; dials {
		case 2:
			j.room = nil
			return nil, errors.New("connection refused")
		case 4:
			cancel()
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	join := func() error {
		_, err := client.Join(ctx, s.url, s.token(forAHub), newHub(t, s.authority, "hub2"), pki.JoinRequest{Name: "hub2"})
		return err
	}
	if err := join(); err != nil || dials != 3 {
		t.Errorf("after %d connections: %v", dials, err)
	}
	if err := join(); err == nil || dials != 4 {
		t.Errorf("a user who no longer waits, after %d connections: %v", dials, err)
	}
}
