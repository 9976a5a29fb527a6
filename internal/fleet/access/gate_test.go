package access_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

func start() time.Time { return time.Unix(1_800_000_000, 0).UTC() }

// door is a gate with its store and its hub.
type door struct {
	t     *testing.T
	gate  *access.Gate
	users fleet.Store
	now   time.Time
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{t: t, users: bustest.NewStore(), now: start()}
	d.gate = &access.Gate{Users: d.users, Now: func() time.Time { return d.now }}
	return d
}

func (d *door) put(key string, v any) {
	d.t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		_, err = d.users.Put(d.t.Context(), key, b)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *door) user(name string, roles ...access.Role) {
	d.put(access.UserKey(name), access.User{Name: name, Roles: roles, By: "root"})
}

func (d *door) bearer(user string, life time.Duration, roles ...access.Role) string {
	d.t.Helper()
	text, b, err := access.NewBearer(user, roles, life, "root", "", d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	d.put(access.BearerKey(b.ID), b)
	return text
}

func (d *door) ask(header ...string) (access.Principal, error) {
	r := httptest.NewRequest(http.MethodGet, "/v1/targets", nil)
	for _, h := range header {
		r.Header.Add("Authorization", h)
	}
	return d.gate.Authenticate(r)
}

func TestBearer(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Operator)
	token := d.bearer("ada", time.Hour, access.Admins)
	who, err := d.ask("Bearer " + token)
	if err != nil {
		t.Fatal(err)
	}
	if !who.Expires.Equal(start().Add(time.Hour)) {
		t.Errorf("a token for an hour is good until %v", who.Expires)
	}
	if who.Name != "ada" || !slices.Equal(who.Rights(), []access.Right{access.Operate, access.Read}) ||
		who.May(access.Admin) {
		t.Errorf("a token for more than its person may do gives %v", who.Rights())
	}
	if !strings.HasPrefix(who.Credential, "token fettle-api-") || strings.Contains(who.Credential, token[18:40]) {
		t.Errorf("how: %s", who.Credential)
	}
	less := d.bearer("ada", time.Hour, access.Reader)
	if who, err := d.ask("Bearer " + less); err != nil || who.May(access.Operate) || !who.May(access.Read) {
		t.Errorf("a token for reading gives %v, %v", who.Rights(), err)
	}
}

// The groups of a user belong to each token of the user, with any roles. Others have none.
func TestGroups(t *testing.T) {
	d := newDoor(t)
	d.put(access.UserKey("ada"), access.User{Name: "ada", Roles: []access.Role{access.Approver}, Groups: []string{"dba"}})
	d.user("bob", access.Approver)
	for name, want := range map[string]string{"ada": "dba", "bob": ""} {
		who, err := d.ask("Bearer " + d.bearer(name, time.Hour, access.Reader))
		if got := strings.Join(who.Groups(), ","); err != nil || got != want {
			t.Errorf("the groups of %s are %q, %v", name, got, err)
		}
	}
	for _, c := range []struct {
		groups []string
		want   string
	}{{[]string{"dba", "sre"}, ""}, {[]string{"dba", "dba"}, "twice"}, {[]string{"d b"}, "does not have the form"},
		{[]string{""}, "does not have the form"}} {
		if err := access.CheckGroups(c.groups); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%q: %v", c.groups, err)
		}
	}
}

// All invalid credentials cause the same refusal, which contains no part of them.
func TestInvalidCredentials(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Operator)
	d.put(access.UserKey("eve"), access.User{Name: "eve", Roles: []access.Role{access.Admins}, Locked: true})
	good, locked, nobody := d.bearer("ada", 2*time.Hour, access.Operator), d.bearer("eve", 2*time.Hour, access.Admins),
		d.bearer("bob", 2*time.Hour, access.Admins)
	short := d.bearer("ada", time.Minute, access.Operator)
	d.now = d.now.Add(time.Hour)
	flipped := []byte(good)
	flipped[25] ^= 1
	cases := map[string][]string{
		"expired": {"Bearer " + short}, "locked": {"Bearer " + locked}, "nobody": {"Bearer " + nobody},
		"mistyped": {"Bearer " + string(flipped)}, "twice": {"Bearer " + good, "Bearer " + good}, "basic": {"Basic " + good},
		"no scheme": {good},
		"no OIDC":   {"Bearer a.b.c"}, "empty": {""}, "cut off": {"Bearer " + good[:40]},
	}
	for name, header := range cases {
		t.Run(name, func(t *testing.T) {
			who, err := d.ask(header...)
			if !errors.Is(err, fleet.ErrDenied) || who.Name != "" || who.May(access.Read) {
				t.Fatalf("%v, %v", who, err)
			}
			for _, secret := range []string{good, locked, nobody, short} {
				for i := 18; i+8 <= len(secret); i++ {
					if strings.Contains(err.Error(), secret[i:i+8]) {
						t.Fatalf("the refusal has a part of a token: %v", err)
					}
				}
			}
		})
	}
	if _, err := d.ask("Bearer " + good); err != nil {
		t.Error(err)
	}
	if _, err := d.ask(); !errors.Is(err, fleet.ErrDenied) {
		t.Error("nobody came in")
	}
}

func TestGuessing(t *testing.T) {
	d := newDoor(t)
	d.gate.Limit = &pki.Limit{}
	d.user("ada", access.Reader)
	good := "Bearer " + d.bearer("ada", time.Hour, access.Reader)
	for range 30 {
		if _, err := d.ask("Bearer fettle-api-x"); err == nil {
			t.Fatal("a wrong token came in")
		}
	}
	if _, err := d.ask("Bearer fettle-api-x"); err == nil || !strings.Contains(err.Error(), "Wait a minute") {
		t.Errorf("after thirty failures: %v", err)
	}
	if _, err := d.ask(good); err != nil {
		t.Errorf("a valid token is refused because of others: %v", err)
	}
	d.now = d.now.Add(time.Minute)
	if _, err := d.ask("Bearer fettle-api-x"); err == nil || strings.Contains(err.Error(), "Wait a minute") {
		t.Errorf("a minute later: %v", err)
	}
}

func TestSocketIsRoot(t *testing.T) {
	d := newDoor(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	who, err := d.gate.Authenticate(r.WithContext(access.AsRoot(r.Context())))
	if err != nil || who.Name != "root" || !who.May(access.Admin) {
		t.Errorf("%v, %v", who, err)
	}
}

// hub is a hub with its CA, in memory.
func hub(t *testing.T, fleetName string) *pki.Hub {
	t.Helper()
	a, err := pki.NewCA(mem.NewFS(mem.Options{}), "/authority", fleetName, start())
	if err != nil {
		t.Fatal(err)
	}
	return hubOf(t, a)
}

// hubOf is a hub with the certificates of a CA, in memory.
func hubOf(t *testing.T, a *pki.CA) *pki.Hub {
	t.Helper()
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs, err := a.Certify(request, "hub1", nil, start())
	if err == nil {
		err = h.Install(certs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func issuer(t *testing.T, h *pki.Hub) *pki.Issuer {
	t.Helper()
	i, err := h.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func publicKey(t *testing.T) crypto.PublicKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k.Public()
}

func TestCertificateOfAUser(t *testing.T) {
	d := newDoor(t)
	h := hub(t, "acme")
	revoked := &pki.Revocations{}
	trust, err := h.Trust(revoked)
	if err != nil {
		t.Fatal(err)
	}
	d.gate.Trust = &trust
	d.user("ada", access.Approver)
	ask := func(i *pki.Issuer, cert *x509.Certificate, err error) (access.Principal, error) {
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert, i.Certificate()}}
		return d.gate.Authenticate(r)
	}
	i, foreign := issuer(t, h), issuer(t, hub(t, "acme"))
	cert, err := i.User(publicKey(t), "ada", time.Hour, start())
	who, err := ask(i, cert, err)
	if err != nil || who.Name != "ada" || !who.May(access.Approve) || who.May(access.Operate) ||
		!who.Expires.Equal(cert.NotAfter) {
		t.Errorf("%v %v until %v, %v", who, who.Rights(), who.Expires, err)
	}
	other, err := foreign.User(publicKey(t), "ada", time.Hour, start())
	if _, err := ask(foreign, other, err); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("another authority of the same name is believed: %v", err)
	}
	key := publicKey(t)
	id, _ := pki.TargetIDOf(key)
	target, err := i.Target(key, id, pki.Claims{Name: "ada"}, start())
	if _, err := ask(i, target, err); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a target comes in as a person: %v", err)
	}
	d.now = start().Add(2 * time.Hour)
	if _, err := ask(i, cert, nil); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a certificate that has ended: %v", err)
	}
}

func TestRoles(t *testing.T) {
	rights := []access.Right{access.Read, access.Operate, access.Approve, access.Admin}
	want := map[access.Role]string{access.Reader: "1000", access.Operator: "1100", access.Approver: "1010",
		access.Admins: "1111", "": "0000", "root": "0000"}
	d := newDoor(t)
	for role, mask := range want {
		d.user("ada", role)
		token := d.bearer("ada", time.Hour, access.Admins)
		who, err := d.ask("Bearer " + token)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rights {
			if who.May(r) != (mask[i] == '1') {
				t.Errorf("%q may %s: %v", role, r, who.May(r))
			}
		}
	}
	if (access.Principal{}).May("") || (access.Principal{}).May(access.Read) {
		t.Error("nobody has rights")
	}
	if _, err := access.RolesOf("read, approve"); err != nil {
		t.Error(err)
	}
	if _, err := access.RolesOf("root"); err == nil {
		t.Error("there is no such role")
	}
}

// A store that cannot be read is a failure, and not an unknown user.
func TestStoreFails(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Reader)
	token := d.bearer("ada", time.Hour, access.Reader)
	d.gate.Users = failing{d.users}
	if _, err := d.ask("Bearer " + token); err == nil || errors.Is(err, fleet.ErrDenied) {
		t.Error(err)
	}
}

type failing struct{ fleet.Store }

func (failing) Get(context.Context, string) (fleet.Entry, error) {
	return fleet.Entry{}, errors.New("no quorum")
}

// A token needs a user, a role and an expiry.
func TestBearersThatAreNotMade(t *testing.T) {
	read := []access.Role{access.Reader}
	for what, make := range map[string]func() (string, access.Bearer, error){
		"no end": func() (string, access.Bearer, error) { return access.NewBearer("ada", read, 0, "root", "", start()) },
		"too long": func() (string, access.Bearer, error) {
			return access.NewBearer("ada", read, access.MaxBearer+1, "root", "", start())
		},
		"no role": func() (string, access.Bearer, error) {
			return access.NewBearer("ada", nil, time.Hour, "root", "", start())
		},
		"no name": func() (string, access.Bearer, error) {
			return access.NewBearer("", read, time.Hour, "root", "", start())
		},
	} {
		if text, _, err := make(); err == nil || text != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := access.NewBearer("ada", read, access.MaxBearer, "root", "", start()); err != nil {
		t.Errorf("a token of the longest life: %v", err)
	}
}

// deaf is a store that does not answer.
type deaf struct{}

func (deaf) Get(context.Context, string) (fleet.Entry, error) {
	return fleet.Entry{}, fleet.ErrNoAnswer
}

// While the store does not answer, users of the last known records may read, but not change. Wrong,
// revoked and unknown tokens are refused.
func TestGateWithoutTheStore(t *testing.T) {
	d := newDoor(t)
	d.user("kim", access.Admins)
	d.put(access.UserKey("lee"), access.User{Name: "lee", Roles: []access.Role{access.Admins}, Locked: true})
	kim, lee := d.bearer("kim", time.Hour, access.Admins), d.bearer("lee", time.Hour, access.Admins)
	d.gate.Users = deaf{}
	if who, err := d.ask("Bearer " + kim); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("without a last record: %v, %v", who, err)
	}
	d.gate.Last = func(key string) ([]byte, bool) {
		e, err := d.users.Get(t.Context(), key)
		return e.Value, err == nil
	}
	who, err := d.ask("Bearer " + kim)
	if err != nil || !who.Unconfirmed || !slices.Equal(who.Rights(), []access.Right{access.Read}) {
		t.Errorf("%v, %v, %v", who, who.Rights(), err)
	}
	if who, err := d.ask("Bearer " + lee); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a user who was locked: %v, %v", who, err)
	}
	other := d.bearer("kim", time.Hour, access.Admins)
	if who, err := d.ask("Bearer " + kim[:19] + other[19:]); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a wrong secret: %v, %v", who, err)
	}
}
