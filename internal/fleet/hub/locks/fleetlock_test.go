package locks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// site is a hub with a fleet CA, the lock reboots with one slot, and the targets web1 and web2.
type site struct {
	*Locks
	t    *testing.T
	keys *pki.Hub
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{hubOver(t, bustest.NewStore()), t, nil}
	root, err := pki.NewCA(mem.New(mem.Options{}), "/ca", "acme", noon)
	if err == nil {
		s.keys, err = pki.OpenHub(mem.New(mem.Options{}), "/keys")
	}
	if err != nil {
		t.Fatal(err)
	}
	request, err := s.keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := root.Certify(request, "hub1", []string{"127.0.0.1"}, noon)
	if err == nil {
		err = s.keys.Install(certificates)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Trust = func() (pki.Trust, error) { return s.keys.Trust(nil) }
	s.Trusted = func(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
		for i, name := range []string{"web1", "web2"} {
			if id == bustest.ID(i) {
				return fleet.Target{ID: id, Name: name, Standing: fleet.Active}, nil
			}
		}
		return fleet.Target{}, fmt.Errorf("%w: it is retired", fleet.ErrDenied)
	}
	declare(t, s.Locks, reboots(1))
	return s
}

// connection returns the TLS connection of a target.
func (s *site) connection(id fleet.TargetID) *tls.ConnectionState {
	s.t.Helper()
	issuer, err := s.keys.Issuer()
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := issuer.Target(&key.PublicKey, id, pki.Claims{Name: "web"}, noon)
	if err != nil {
		s.t.Fatal(err)
	}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c, issuer.Certificate()}}
}

// post sends a request, and returns the status and the body of the answer.
func (s *site) post(path string, as *tls.ConnectionState, body string, headers ...string) string {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.TLS = as
	r.Header.Set("fleet-lock-protocol", "true")
	for _, name := range headers {
		r.Header.Del(name)
	}
	w := httptest.NewRecorder()
	if path == PreRebootPath {
		s.ServePreReboot(w, r)
	} else {
		s.ServeSteadyState(w, r)
	}
	return fmt.Sprint(w.Code, " ", w.Body)
}

func ofClient(id, group string) string {
	return fmt.Sprintf(`{"client_params":{"id":%q,"group":%q},"later":1}`, id, group)
}

// TestFleetLock: one of two targets reboots, then the other.
func TestFleetLock(t *testing.T) {
	s := newSite(t)
	web1, web2 := s.connection(bustest.ID(0)), s.connection(bustest.ID(1))
	for i, c := range []struct {
		path string
		as   *tls.ConnectionState
		id   string
		want string
	}{
		{PreRebootPath, web1, "web1", `200 {"kind":"slot_acquired"`},
		{PreRebootPath, web1, string(bustest.ID(0)), `"expires":"2026-06-01T13:00:00Z"`},
		{PreRebootPath, web2, "web2", `409 {"kind":"slots_taken","value":"the slot of the lock reboots is taken"`},
		{SteadyStatePath, web2, "web2", `200 {"kind":"slot_released"`},
		{PreRebootPath, web2, "web2", `409`},
		{SteadyStatePath, web1, "web1", `200`},
		{SteadyStatePath, web1, "web1", `200`},
		{PreRebootPath, web2, "web2", `200`},
		{PreRebootPath, web1, "web1", `409`},
	} {
		if got := s.post(c.path, c.as, ofClient(c.id, "reboots")); !strings.Contains(got, c.want) {
			t.Errorf("%d: %s of %s: %s, want %s", i, c.path, c.id, got, c.want)
		}
	}
}

func TestFleetLockRefusals(t *testing.T) {
	s := newSite(t)
	web1, reboot := s.connection(bustest.ID(0)), ofClient("web1", "reboots")
	for name, c := range map[string]struct {
		as      *tls.ConnectionState
		body    string
		without string
		want    string
	}{
		"no TLS":                  {nil, reboot, "", "401 "},
		"no certificate":          {&tls.ConnectionState{}, reboot, "", "401 "},
		"a retired target":        {s.connection(bustest.ID(7)), reboot, "", `403 {"kind":"not_trusted"`},
		"another target":          {web1, ofClient("web2", "reboots"), "", `403 {"kind":"wrong_id"`},
		"no ID":                   {web1, ofClient("", "reboots"), "", `403 {"kind":"wrong_id"`},
		"an unknown group":        {web1, ofClient("web1", "default"), "", `404 {"kind":"unknown_group"`},
		"a group that is no name": {web1, ofClient("web1", "../users"), "", `404 {"kind":"unknown_group"`},
		"no header":               {web1, reboot, "fleet-lock-protocol", `400 {"kind":"no_protocol_header"`},
		"no JSON":                 {web1, "web1", "", `400 {"kind":"invalid_request"`},
		"an empty body":           {web1, "", "", `400 {"kind":"invalid_request"`},
		"a long body":             {web1, strings.Repeat(" ", maxBody) + reboot, "", `400 {"kind":"invalid_request"`},
	} {
		for _, path := range []string{PreRebootPath, SteadyStatePath} {
			if got := s.post(path, c.as, c.body, c.without); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, %s: %s, want %s", name, path, got, c.want)
			}
		}
	}
	if got := holders(s.Locks); got != "" {
		t.Errorf("%s hold slots", got)
	}
}

// TestFleetLockWithoutQuorum: a minority of hubs grants nothing, and answers at once.
func TestFleetLockWithoutQuorum(t *testing.T) {
	s := newSite(t)
	s.MayChange = func() error { return errors.New("most hubs are down") }
	got := s.post(PreRebootPath, s.connection(bustest.ID(0)), ofClient("web1", "reboots"))
	if !strings.HasPrefix(got, `503 {"kind":"no_quorum","value":"most hubs are down"`) {
		t.Error(got)
	}
}

// TestFleetLockWithoutAnswer: the client must repeat the request.
func TestFleetLockWithoutAnswer(t *testing.T) {
	s := newSite(t)
	s.Records.Locks.Store.(*bustest.Store).Break(fleet.ErrNoAnswer)
	got := s.post(PreRebootPath, s.connection(bustest.ID(0)), ofClient("web1", "reboots"))
	s.Records.Locks.Store.(*bustest.Store).Break(nil)
	if !strings.HasPrefix(got, `503 {"kind":"no_answer","value":"the result is unknown, repeat the request`) {
		t.Error(got)
	}
}

// TestFleetLockFlood: a target cannot make hubs write without a limit.
func TestFleetLockFlood(t *testing.T) {
	s := newSite(t)
	web1 := s.connection(bustest.ID(0))
	count := 0
	for range 3 * requestBurst {
		if got := s.post(PreRebootPath, web1, ofClient("web1", "reboots")); strings.HasPrefix(got, "200") {
			count++
		} else if !strings.HasPrefix(got, `429 {"kind":"too_many_requests"`) {
			t.Fatal(got)
		}
	}
	if count != requestBurst {
		t.Errorf("%d requests were answered", count)
	}
	s.Now = func() time.Time { return noon.Add(requestInterval) }
	if got := s.post(SteadyStatePath, web1, ofClient("web1", "reboots")); !strings.HasPrefix(got, "200") {
		t.Error(got)
	}
}
