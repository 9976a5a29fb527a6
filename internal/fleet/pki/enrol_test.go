package pki_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// start is the time at which tests begin.
func start() time.Time { return time.Unix(1_800_000_000, 0).UTC() }

// clock is a clock that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return start().Add(time.Duration(c.at.Load())) }
func (c *clock) forward(d time.Duration) { c.at.Add(int64(d)) }

// site is a fleet with one hub on the loopback.
type site struct {
	t                             *testing.T
	clock                         *clock
	authority                     *pki.CA
	hub                           *pki.Hub
	registrar                     *pki.Registrar
	tokens, targets, facts, names *memory
	url                           string
}

func newAuthority(t *testing.T, fleet string) *pki.CA {
	t.Helper()
	a, err := pki.NewCA(mem.NewFS(mem.Options{}), "/authority", fleet, start())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newHub(t *testing.T, a *pki.CA, id string) *pki.Hub {
	t.Helper()
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs, err := a.Certify(request, id, []string{"hub.example.org", "127.0.0.1"}, start())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Install(certs); err != nil {
		t.Fatal(err)
	}
	return h
}

func newSite(t *testing.T, fleetName string) *site {
	t.Helper()
	s := &site{t: t, clock: &clock{}, authority: newAuthority(t, fleetName), tokens: &memory{}, targets: &memory{},
		facts: &memory{}, names: &memory{}}
	s.hub = newHub(t, s.authority, "hub1")
	s.registrar = &pki.Registrar{
		Hub: s.hub, Revocations: &pki.Revocations{}, Tokens: s.tokens, Targets: s.targets, RevocationStore: s.facts,
		Names: s.names,
		Now:   s.clock.now, BusURLs: []string{"tls://127.0.0.1:4222"}, Limit: &pki.Limit{},
	}
	trust, err := s.hub.Trust(s.registrar.Revocations)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/enrol", s.registrar.ServeEnrol)
	mux.HandleFunc("POST /v1/renew", s.registrar.ServeRenew)
	mux.HandleFunc("POST /v1/facts", s.registrar.ServeRevocations)
	s.url = serve(t, mux, trust.ServerTLS(s.hub.TLS, s.clock.now))
	s.registrar.HubURLs = []string{s.url}
	return s
}

// serve runs a server on the loopback until the test ends.
func serve(t *testing.T, h http.Handler, conf *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ErrorLog: quiet(), TLSConfig: conf}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return "https://" + l.Addr().String()
}

// token creates a token and stores it.
func (s *site) token(change func(*pki.Terms)) pki.Token {
	s.t.Helper()
	terms := pki.Terms{Labels: map[string]string{"role": "web"}, Fleet: "prod", Uses: 1,
		Expires: s.clock.now().Add(time.Hour).Unix()}
	if change != nil {
		change(&terms)
	}
	t, stored, err := pki.NewToken(terms, s.authority.Digest(), "ada", s.clock.now())
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := json.Marshal(stored)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.tokens.Update(context.Background(), t.ID, b, 0); err != nil {
		s.t.Fatal(err)
	}
	return t
}

// host returns a client with its own directory.
func (s *site) host() pki.Client {
	return pki.Client{Directory: pki.Directory{FS: mem.NewFS(mem.Options{}), Dir: "/var/lib/fettle/identity"},
		Now: s.clock.now}
}

func (s *site) target(id fleet.TargetID) fleet.Target {
	s.t.Helper()
	e, err := s.targets.Get(context.Background(), string(id))
	if err != nil {
		s.t.Fatal(err)
	}
	var t fleet.Target
	if err := json.Unmarshal(e.Value, &t); err != nil {
		s.t.Fatal(err)
	}
	return t
}

func TestEnrol(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i, err := c.Enrol(t.Context(), s.url, s.token(nil), "web1")
	if err != nil {
		t.Fatal(err)
	}
	target := s.target(i.ID)
	if target.Name != "web1" || target.Labels["role"] != "web" || target.Fleet != "prod" ||
		target.Standing != fleet.Active || len(target.Serials) != 1 {
		t.Errorf("the registry has %+v", target)
	}
	claims, err := pki.ClaimsOf(i.Certificate())
	if err != nil || claims.Name != "web1" || claims.Labels["role"] != "web" || claims.Fleet != "prod" {
		t.Errorf("the certificate says %+v, %v", claims, err)
	}
	if len(i.Keys(nil, start(), time.Time{})) != 1 {
		t.Error("the agent does not know the hub's signing key")
	}
	again, err := c.Directory.Load()
	if err != nil || again.ID != i.ID || again.Fleet != "acme" {
		t.Errorf("the directory has %+v, %v", again, err)
	}
	if _, err := c.Enrol(t.Context(), s.url, s.token(nil), "web1"); err == nil ||
		!strings.Contains(err.Error(), "--again") {
		t.Errorf("a host with an identity enrols: %v", err)
	}
}

// A thousand hosts use one token for one use: one of them succeeds.
func TestOneTokenForAThousand(t *testing.T) {
	for _, uses := range []int{1, 7} {
		s := newSite(t, "acme")
		token := s.token(func(terms *pki.Terms) { terms.Uses = uses })
		s.registrar.Limit = nil
		requests := make([]pki.Enrolment, 1000)
		for i := range requests {
			requests[i] = pki.EnrolmentFor(t, token, "host"+strconv.Itoa(i))
		}
		var won, refused atomic.Int32
		var wg sync.WaitGroup
		for _, e := range requests {
			wg.Go(func() {
				_, err := s.registrar.Enrol(t.Context(), e, loopback())
				if _, theirs := errors.AsType[*pki.Refusal](err); theirs {
					refused.Add(1)
				} else if err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		targets, _ := s.targets.All(t.Context())
		if int(won.Load()) != uses || len(targets) != uses || int(refused.Load()) != len(requests)-uses {
			t.Errorf("%d uses let %d in and refused %d, and the registry has %d", uses, won.Load(), refused.Load(), len(targets))
		}
	}
}

// A token is refused outside of its terms, for any host, and nothing is stored.
func TestTokensThatAreNoGood(t *testing.T) {
	s := newSite(t, "acme")
	other := newSite(t, "zeta")
	expired := s.token(nil)
	s.clock.forward(2 * time.Hour)
	wrong := s.token(nil)
	wrong.Secret[3] ^= 1
	misled := s.token(nil)
	misled.Authority = other.authority.Digest()
	cases := []struct {
		name, host, want string
		token            pki.Token
	}{
		{"expired", "web1", "it expired at 2027-01-15T09:00:00Z", expired},
		{"wrong secret", "web1", "the hub does not know it", wrong},
		{"unknown", "web1", "the hub does not know it", pki.Token{ID: "aaaaaaaa", Authority: s.authority.Digest()}},
		{"name", "db1", "it is for names like web*", s.token(func(t *pki.Terms) { t.Names = "web*" })},
		{"network", "web1", "it is for other networks",
			s.token(func(t *pki.Terms) { t.Networks = []string{"192.0.2.0/24", "2001:db8::/32"} })},
		{"another authority", "web1", "does not belong to the fleet of the token", misled},
		{"foreign fleet", "web1", "does not belong to the fleet of the token", other.token(nil)},
		{"bad name", "-web", "as the name of a target", s.token(nil)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.host().Enrol(t.Context(), s.url, c.token, c.host)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if all, _ := s.targets.All(t.Context()); len(all) != 0 {
		t.Errorf("there are %d targets", len(all))
	}
}

// A spent token is refused with another key, and returns the same target with the same key.
func TestReplay(t *testing.T) {
	s := newSite(t, "acme")
	token := s.token(nil)
	e := pki.EnrolmentFor(t, token, "web1")
	first, err := s.registrar.Enrol(t.Context(), e, loopback())
	if err != nil {
		t.Fatal(err)
	}
	s.clock.forward(3 * time.Hour) // the token has expired, and the answer was lost
	again, err := s.registrar.Enrol(t.Context(), e, loopback())
	if err != nil || again.ID != first.ID {
		t.Errorf("the same key got %q, %v, not %q", again.ID, err, first.ID)
	}
	if _, err := s.registrar.Enrol(t.Context(), pki.EnrolmentFor(t, token, "web2"), loopback()); err == nil {
		t.Error("another key got in with a spent token")
	}
	more := s.token(nil)
	e.Token = more.Text()
	if _, err := s.registrar.Enrol(t.Context(), e, loopback()); err == nil || !strings.Contains(err.Error(), "--again") {
		t.Errorf("a key that is a target already enrolled anew: %v", err)
	}
}

// A deleted host enrols again as another target, and only under an unused name.
func TestDeletedHost(t *testing.T) {
	s := newSite(t, "acme")
	old := s.host()
	was, err := old.Enrol(t.Context(), s.url, s.token(nil), "web1")
	if err != nil {
		t.Fatal(err)
	}
	token := s.token(nil)
	again := s.host()
	if _, err := again.Enrol(t.Context(), s.url, token, "web1"); err == nil ||
		!strings.Contains(err.Error(), "fettle target retire web1") {
		t.Fatalf("the name was taken over: %v", err)
	}
	if _, err := s.registrar.SetStanding(t.Context(), was.ID, fleet.Retired, "ada", "moved"); err != nil {
		t.Fatal(err)
	}
	is, err := again.Enrol(t.Context(), s.url, token, "web1")
	if err != nil || is.ID == was.ID {
		t.Fatalf("%v: it is %+v", err, is)
	}
	if _, err := old.Renew(t.Context(), nil); err == nil {
		t.Error("a retired target renews its certificate")
	}
	if _, err := s.registrar.SetStanding(t.Context(), was.ID, fleet.Active, "ada",
		"oops"); err == nil || !strings.Contains(err.Error(), "permanently") {
		t.Errorf("a retired target is active again: %v", err)
	}
}

func TestApproval(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	token := s.token(func(t *pki.Terms) { t.Approve = true })
	_, err := c.Enrol(t.Context(), s.url, token, "web1")
	if !errors.Is(err, pki.ErrPending) || !strings.Contains(err.Error(), "fettle target approve") {
		t.Fatal(err)
	}
	if _, err := c.Directory.Load(); !errors.Is(err, pki.ErrNoIdentity) {
		t.Errorf("a pending target has an identity: %v", err)
	}
	all, _ := s.targets.All(t.Context())
	id := fleet.TargetID(all[0].Key)
	s.clock.forward(48 * time.Hour) // the token has expired in the meantime
	if _, err := s.registrar.SetStanding(t.Context(), id, fleet.Active, "ada", ""); err != nil {
		t.Fatal(err)
	}
	i, err := c.Enrol(t.Context(), s.url, token, "web1")
	if err != nil || i.ID != id {
		t.Fatalf("%v, %+v", err, i)
	}
}

// dialNowhere is a network without any reachable host.
func dialNowhere(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no route to host")
}

// An unreachable hub that returns later records only one use.
func TestEnrolGoesOn(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	token := s.token(nil)
	c.Dial = dialNowhere
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err == nil {
		t.Fatal("a hub that cannot be reached let it in")
	}
	s.targets.fail = func(op, _ string) error {
		if op == "update" {
			return errors.New("the disk is full")
		}
		return nil
	}
	c.Dial = nil
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err == nil || !strings.Contains(err.Error(), "Retry later") {
		t.Fatal(err)
	}
	s.targets.fail = nil
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err != nil {
		t.Fatal(err)
	}
}

// A name is reserved for a target that a hub is storing, but not permanently.
func TestNameOfATargetThatNeverCame(t *testing.T) {
	s := newSite(t, "acme")
	b, err := json.Marshal(map[string]any{"target": someTarget, "at": s.clock.now().Unix()})
	if err == nil {
		_, err = s.names.Put(t.Context(), "name/web1", b)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, token := s.host(), s.token(nil)
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err == nil ||
		!strings.Contains(err.Error(), "there is a target of that name") {
		t.Fatal(err)
	}
	s.clock.forward(2 * time.Minute)
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err != nil {
		t.Error(err)
	}
}
