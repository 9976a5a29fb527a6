package access_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// base32Lower writes tokens as a hub does.
func base32Lower(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// summed appends the check characters to the body of a token.
func summed(body string) string {
	sum := sha256.Sum256([]byte(body))
	return body + "-" + base32Lower(sum[:])[:6]
}

// limitedNow reports whether an error says that an address has failed too often.
func limitedNow(err error) bool { return err != nil && strings.Contains(err.Error(), "Wait a minute") }

// TestFormatOfTokens: a token that another version of fettle created in this format is valid.
func TestFormatOfTokens(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Reader)
	secret := []byte("a secret of 20 bytes")
	sum := sha256.Sum256(secret)
	d.put("token/abcdefgh", map[string]any{
		"id": "abcdefgh", "user": "ada", "hash": hex.EncodeToString(sum[:]),
		"roles": []string{"read"}, "expires": start().Unix() + 60,
	})
	who, err := d.ask("Bearer " + summed("fettle-api-abcdefgh-"+base32Lower(secret)))
	if err != nil || who.Name != "ada" {
		t.Errorf("%v, %v", who, err)
	}
}

// noStore fails a test that asks it.
type noStore struct{ t *testing.T }

func (s noStore) Get(_ context.Context, key string) (fleet.Entry, error) {
	s.t.Errorf("the store is asked for %q", key)
	return fleet.Entry{}, fleet.ErrNotFound
}

// TestTextThatIsNotAToken: a text in another format is refused without a request to the store, also
// with correct check characters, which everyone can compute.
func TestTextThatIsNotAToken(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Reader)
	good := d.bearer("ada", time.Hour, access.Reader)
	id, secret := strings.Repeat("a", 8), strings.Repeat("b", 32)
	for what, text := range map[string]string{
		"no check characters":    "fettle-api-" + id + "-" + secret,
		"wrong check characters": good[:len(good)-6] + "aaaaaa",
		"a typing error":         strings.Replace(good, good[20:21], string(rune(good[20])^1), 1),
		"a part more":            summed("fettle-api-" + id + "-" + secret + "-x"),
		"short ID":               summed("fettle-api-" + id[1:] + "-" + secret),
		"long ID":                summed("fettle-api-" + id + "a-" + secret),
		"other ID":               summed("fettle-api-" + "a/../..a" + "-" + secret),
		"short secret":           summed("fettle-api-" + id + "-" + secret[1:]),
		"other secret":           summed("fettle-api-" + id + "-" + strings.Repeat("1", 32)),
	} {
		d.gate.Users = noStore{t}
		if who, err := d.ask("Bearer " + text); !errors.Is(err, fleet.ErrDenied) || who.Name != "" {
			t.Errorf("%s: %v, %v", what, who, err)
		}
	}
}

// TestTokensAreRandom: each token has its own ID and secret.
func TestTokensAreRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		text, _, err := access.NewBearer("ada", []access.Role{access.Reader}, time.Hour, "root", "", start())
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(strings.TrimPrefix(text, "fettle-api-"), "-") {
			if seen[part] {
				t.Errorf("%q is in two tokens", part)
			}
			seen[part] = true
		}
	}
}

// TestLifeOfTokens: a token is valid for 366 days at most, until the second of its expiry, and until
// an admin revokes it.
func TestLifeOfTokens(t *testing.T) {
	const longest = 366 * 24 * time.Hour
	read := []access.Role{access.Reader}
	if _, _, err := access.NewBearer("ada", read, longest+time.Second, "root", "", start()); err == nil {
		t.Error("a token is valid for more than 366 days")
	}
	text, b, err := access.NewBearer("ada", read, longest, "root", "", start())
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t)
	d.user("ada", access.Reader)
	d.put(access.BearerKey(b.ID), b)
	for after, good := range map[time.Duration]bool{0: true, longest - time.Second: true, longest: false} {
		d.now = start().Add(after)
		if _, err := d.ask("Bearer " + text); good != (err == nil) {
			t.Errorf("after %s: %v", after, err)
		}
	}
	d.now, b.Revoked = start(), start().Unix()
	d.put(access.BearerKey(b.ID), b)
	if who, err := d.ask("Bearer " + text); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a revoked token authenticates %v: %v", who, err)
	}
}

// TestAttemptsThatCount: only refused tokens count as attempts of their address. Requests without a
// token and failures of the store do not count, nor do the attempts of other addresses.
func TestAttemptsThatCount(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Reader)
	good := "Bearer " + d.bearer("ada", time.Hour, access.Reader)
	ask := func(from string, header ...string) error {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = from
		for _, h := range header {
			r.Header.Add("Authorization", h)
		}
		_, err := d.gate.Authenticate(r)
		return err
	}
	repeat := func(from string, header ...string) (err error) {
		for range 30 {
			err = ask(from, header...)
		}
		return err
	}
	d.gate.Limit = &pki.Limit{}
	if err := repeat("192.0.2.1:1"); limitedNow(err) {
		t.Errorf("requests without a token: %v", err)
	}
	d.gate.Users = failing{d.users}
	if err := repeat("192.0.2.1:1", good); errors.Is(err, fleet.ErrDenied) {
		t.Errorf("requests while the store fails: %v", err)
	}
	d.gate.Users = d.users
	if err := ask("192.0.2.1:1", "Bearer x"); limitedNow(err) {
		t.Errorf("the first refused token: %v", err)
	}
	if err := repeat("192.0.2.1:1", "Bearer x"); !limitedNow(err) {
		t.Errorf("thirty refused tokens: %v", err)
	}
	if err := ask("[::ffff:192.0.2.1]:2", "Bearer x"); !limitedNow(err) {
		t.Errorf("the same address in IPv6 form: %v", err)
	}
	if err := ask("192.0.2.2:1", "Bearer x"); limitedNow(err) {
		t.Errorf("another address: %v", err)
	}
}

// connection is what a server knows about a client: its certificates.
func connection(chain ...*x509.Certificate) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: chain}
}

// TestRequestsWithoutCredentials: without a token, and without a certificate that the hub can verify,
// a request is told that credentials are missing.
func TestRequestsWithoutCredentials(t *testing.T) {
	h := hub(t, "acme")
	trust, err := h.Trust(&pki.Revocations{})
	if err != nil {
		t.Fatal(err)
	}
	i := issuer(t, h)
	cert, err := i.User(publicKey(t), "ada", time.Hour, start())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		tls   *tls.ConnectionState
		trust *pki.Trust
	}{
		"no TLS":                     {nil, &trust},
		"no certificate":             {connection(), &trust},
		"a hub without trust":        {connection(cert, i.Certificate()), nil},
		"no TLS, and no trust":       {nil, nil},
		"no certificate or trust":    {connection(), nil},
		"a hub that trusts no users": {connection(cert), nil},
	} {
		d := newDoor(t)
		d.user("ada", access.Reader)
		d.gate.Trust = c.trust
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = c.tls
		_, err := d.gate.Authenticate(r)
		if !errors.Is(err, fleet.ErrDenied) || !strings.Contains(err.Error(), "without a token or a certificate") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// servicesOf returns the certificate of the service issuer of a hub.
func servicesOf(t *testing.T, a *pki.CA) *x509.Certificate {
	t.Helper()
	s, err := pki.OpenServices(mem.NewFS(mem.Options{}), "/services")
	if err != nil {
		t.Fatal(err)
	}
	request, err1 := s.Request()
	text, err2 := a.CertifyServices(request, "hub1", nil, start())
	if err := errors.Join(err1, err2, s.Install(text)); err != nil {
		t.Fatal(err)
	}
	cert, err := s.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestCertificatesThatAreNotOfUsers: the certificates of a hub are signed by the CA that signs for
// users, and name the hub. A user with the name of the hub is not authenticated by them. Neither is a
// user whom the store does not know.
func TestCertificatesThatAreNotOfUsers(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	a, err := pki.NewCA(files, "/authority", "acme", start())
	if err != nil {
		t.Fatal(err)
	}
	h := hubOf(t, a)
	trust, err := h.Trust(&pki.Revocations{})
	if err != nil {
		t.Fatal(err)
	}
	i := issuer(t, h)
	own, err1 := h.Certificate()
	unknown, err2 := i.User(publicKey(t), "eve", time.Hour, start())
	signer, err3 := h.Signer()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for what, chain := range map[string][]*x509.Certificate{
		"hub": {own}, "issuer": {i.Certificate()}, "signer": {signer}, "services": {servicesOf(t, a)},
		"unknown user": {unknown, i.Certificate()},
	} {
		d := newDoor(t)
		d.user("hub1", access.Admins)
		d.gate.Trust = &trust
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = connection(chain...)
		if who, err := d.gate.Authenticate(r); !errors.Is(err, fleet.ErrDenied) || who.Name != "" {
			t.Errorf("%s: %v, %v", what, who, err)
		}
	}
}

// TestTwoHeaders: a request with two tokens is refused, also with a valid certificate.
func TestTwoHeaders(t *testing.T) {
	d := newDoor(t)
	h := hub(t, "acme")
	trust, err := h.Trust(&pki.Revocations{})
	if err != nil {
		t.Fatal(err)
	}
	d.gate.Trust = &trust
	d.user("ada", access.Reader)
	i := issuer(t, h)
	cert, err := i.User(publicKey(t), "ada", time.Hour, start())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = connection(cert, i.Certificate())
	for range 2 {
		r.Header.Add("Authorization", "Bearer "+d.bearer("ada", time.Hour, access.Reader))
	}
	if who, err := d.gate.Authenticate(r); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v, %v", who, err)
	}
}

// TestRightsOfSeveralRoles: rights that several roles give are listed once.
func TestRightsOfSeveralRoles(t *testing.T) {
	who := access.NewPrincipal("ada", "socket", access.Approver, access.Operator, access.Reader)
	if want := []access.Right{access.Approve, access.Operate, access.Read}; !slices.Equal(who.Rights(), want) {
		t.Errorf("%v, want %v", who.Rights(), want)
	}
}

// waiting is a store that reports the time limit of each request and does not answer.
type waiting struct{ limits *[]time.Duration }

func (s waiting) Get(ctx context.Context, _ string) (fleet.Entry, error) {
	end, _ := ctx.Deadline()
	*s.limits = append(*s.limits, time.Until(end))
	return fleet.Entry{}, fleet.ErrNoAnswer
}

// TestLastKnownRecords: last known records are used only if the store does not answer within three
// seconds, the client still waits, and the hub knows the record.
func TestLastKnownRecords(t *testing.T) {
	d := newDoor(t)
	d.user("kim", access.Admins)
	token := "Bearer " + d.bearer("kim", time.Hour, access.Admins)
	last := func(key string) ([]byte, bool) {
		e, err := d.users.Get(context.Background(), key)
		return e.Value, err == nil
	}
	var limits []time.Duration
	left, leave := context.WithCancel(t.Context())
	leave()
	for what, c := range map[string]struct {
		ctx   context.Context
		store access.Records
		last  func(string) ([]byte, bool)
		good  bool
	}{
		"no answer":          {t.Context(), waiting{&limits}, last, true},
		"another failure":    {t.Context(), failing{d.users}, last, false},
		"the client left":    {left, deaf{}, last, false},
		"no record is known": {t.Context(), deaf{}, func(string) ([]byte, bool) { return nil, false }, false},
	} {
		d.gate.Users, d.gate.Last = c.store, c.last
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", token)
		who, err := d.gate.Authenticate(r.WithContext(c.ctx))
		if c.good != (err == nil) || c.good != (who.Name == "kim") || errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%s: %v, %v", what, who, err)
		}
		if what == "no record is known" && (err == nil || !strings.Contains(err.Error(), "cannot authenticate now")) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(limits) != 2 || slices.Max(limits) > 3*time.Second {
		t.Errorf("the store may take %v", limits)
	}
}
