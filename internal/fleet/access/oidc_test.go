package access_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

type object = map[string]any

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// provider is a fake OIDC provider.
type provider struct {
	t      *testing.T
	server *httptest.Server
	rsa    *rsa.PrivateKey
	ec     *ecdsa.PrivateKey
	keys   []object
	asked  atomic.Int32
	down   atomic.Bool
}

// rsaKeys are created once, because that is slow.
var rsaKeys = sync.OnceValue(func() (keys [2]*rsa.PrivateKey) {
	for i := range keys {
		keys[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return keys
})

func rsaKey(t *testing.T, n int) *rsa.PrivateKey {
	t.Helper()
	k := rsaKeys()[n]
	if k == nil {
		t.Fatal("there is no key")
	}
	return k
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, rsa: rsaKey(t, 0)}
	var err error
	if p.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	p.keys = []object{p.rsaKey("r1", &p.rsa.PublicKey), p.ecKey("e1", &p.ec.PublicKey)}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		if p.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(object{"issuer": p.server.URL, "jwks_uri": p.server.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter,
		_ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"keys": p.keys})
	})
	p.server = httptest.NewTLSServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

func (p *provider) rsaKey(id string, k *rsa.PublicKey) object {
	return object{"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": b64(k.N.Bytes()),
		"e": b64(big.NewInt(int64(k.E)).Bytes())}
}

func (p *provider) ecKey(id string, k *ecdsa.PublicKey) object {
	raw, err := k.Bytes()
	if err != nil {
		p.t.Fatal(err)
	}
	return object{"kty": "EC", "kid": id, "crv": "P-256", "x": b64(raw[1:33]), "y": b64(raw[33:])}
}

func (p *provider) signed(head, claims object, sign func(sum []byte) []byte) string {
	h, err := json.Marshal(head)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.signedText(b64(h)+"."+b64(c), sign)
}

// signedText appends a signature to the other parts of a token.
func (p *provider) signedText(body string, sign func(sum []byte) []byte) string {
	sum := sha256.Sum256([]byte(body))
	return body + "." + b64(sign(sum[:]))
}

func (p *provider) byRSA(sum []byte) []byte {
	s, err := rsa.SignPKCS1v15(rand.Reader, p.rsa, crypto.SHA256, sum)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *provider) byEC(sum []byte) []byte {
	r, s, err := ecdsa.Sign(rand.Reader, p.ec, sum)
	if err != nil {
		p.t.Fatal(err)
	}
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

// claims returns valid claims with some changes.
func (p *provider) claims(change object) object {
	c := object{"iss": p.server.URL, "sub": "1", "aud": "fettle", "exp": start().Add(time.Hour).Unix(),
		"iat":   start().Unix(),
		"email": "ada@example.org", "email_verified": true, "groups": []string{"staff", "sre"}}
	for k, v := range change {
		c[k] = v
		if v == nil {
			delete(c, k)
		}
	}
	return c
}

func (p *provider) gate(d *door) *access.Provider {
	out := &access.Provider{Issuer: p.server.URL, Client: "fettle", HTTP: p.server.Client(), Rules: []access.Rule{
		{Claim: "groups", Value: "sre", Role: access.Operator}, {Claim: "groups", Value: "leads", Role: access.Approver},
		{Claim: "hd", Value: "example.org", Role: access.Reader},
	}}
	if err := out.Check(); err != nil {
		p.t.Fatal(err)
	}
	d.gate.OIDC = out
	return out
}

func TestIDTokens(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	rs, es := object{"alg": "RS256", "kid": "r1"}, object{"alg": "ES256", "kid": "e1"}
	good := map[string]string{
		"RS256":    p.signed(rs, p.claims(nil), p.byRSA),
		"ES256":    p.signed(es, p.claims(nil), p.byEC),
		"audience": p.signed(rs, p.claims(object{"aud": []string{"fettle", "other"}, "azp": "fettle"}), p.byRSA),
		"skew": p.signed(rs, p.claims(object{"exp": start().Add(-30 * time.Second).Unix(),
			"iat": start().Add(30 * time.Second).Unix()}), p.byRSA),
	}
	for what, token := range good {
		who, err := d.ask("Bearer " + token)
		if err != nil || who.Name != "ada@example.org" ||
			!slices.Equal(who.Rights(), []access.Right{access.Operate, access.Read}) {
			t.Errorf("%s: %v %v %v", what, who, who.Rights(), err)
		}
	}
	if p.asked.Load() != 1 {
		t.Errorf("the provider was asked %d times", p.asked.Load())
	}
	// A stream that was opened with a token ends when the token expires, and not before.
	who, err := d.ask("Bearer " + good["RS256"])
	if d.now = who.Expires.Add(-time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ask("Bearer " + good["RS256"]); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	d.now = who.Expires
	if _, err := d.ask("Bearer " + good["RS256"]); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("at its end: %v", err)
	}
	d.now = start()
	d.put(access.UserKey("ada@example.org"), access.User{Name: "ada@example.org", Locked: true})
	if who, err := d.ask("Bearer " + good["RS256"]); !errors.Is(err, fleet.ErrDenied) || who.Name != "" {
		t.Errorf("somebody who is locked comes in: %v", err)
	}
}

func TestInvalidIDTokens(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	other := rsaKey(t, 1)
	weak, err1 := rsa.GenerateKey(rand.Reader, 1024)
	short, err2 := rsa.GenerateKey(rand.Reader, 2047)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	small, short1 := p.rsaKey("small", &weak.PublicKey), p.rsaKey("short", &short.PublicKey)
	encrypts := p.rsaKey("enc", &p.rsa.PublicKey)
	encrypts["use"] = "enc"
	p.keys = append(p.keys, small, short1, encrypts)
	rs := object{"alg": "RS256", "kid": "r1"}
	byOther := func(sum []byte) []byte { return (&provider{t: t, rsa: other}).byRSA(sum) }
	byWeak := func(sum []byte) []byte { return (&provider{t: t, rsa: weak}).byRSA(sum) }
	byShort := func(sum []byte) []byte { return (&provider{t: t, rsa: short}).byRSA(sum) }
	none := func([]byte) []byte { return nil }
	cases := map[string]string{
		"alg none":         p.signed(object{"alg": "none", "kid": "r1"}, p.claims(nil), none),
		"alg HS256":        p.signed(object{"alg": "HS256", "kid": "r1"}, p.claims(nil), p.byRSA),
		"alg of the other": p.signed(object{"alg": "ES256", "kid": "r1"}, p.claims(nil), p.byRSA),
		"another key":      p.signed(rs, p.claims(nil), byOther),
		"unknown key":      p.signed(object{"alg": "RS256", "kid": "r9"}, p.claims(nil), p.byRSA),
		"no signature":     p.signed(rs, p.claims(nil), none),
		"weak key":         p.signed(object{"alg": "RS256", "kid": "small"}, p.claims(nil), byWeak),
		"a bit too short":  p.signed(object{"alg": "RS256", "kid": "short"}, p.claims(nil), byShort),
		"key for sealing":  p.signed(object{"alg": "RS256", "kid": "enc"}, p.claims(nil), p.byRSA),
		"crit":             p.signed(object{"alg": "RS256", "kid": "r1", "crit": []string{"x"}}, p.claims(nil), p.byRSA),
		"ended":            p.signed(rs, p.claims(object{"exp": start().Add(-2 * time.Minute).Unix()}), p.byRSA),
		"endless":          p.signed(rs, p.claims(object{"exp": nil}), p.byRSA),
		"not yet":          p.signed(rs, p.claims(object{"nbf": start().Add(2 * time.Minute).Unix()}), p.byRSA),
		"from the future":  p.signed(rs, p.claims(object{"iat": start().Add(2 * time.Minute).Unix()}), p.byRSA),
		"another issuer":   p.signed(rs, p.claims(object{"iss": "https://evil.example"}), p.byRSA),
		"another audience": p.signed(rs, p.claims(object{"aud": "other"}), p.byRSA),
		"another party":    p.signed(rs, p.claims(object{"aud": []string{"fettle", "other"}, "azp": "other"}), p.byRSA),
		"a party of one":   p.signed(rs, p.claims(object{"azp": "other"}), p.byRSA),
		"only a party":     p.signed(rs, p.claims(object{"aud": []string{"x", "y"}, "azp": "fettle"}), p.byRSA),
		"no party":         p.signed(rs, p.claims(object{"aud": []string{"fettle", "other"}}), p.byRSA),
		"nobody":           p.signed(rs, p.claims(object{"sub": nil}), p.byRSA),
		"not verified":     p.signed(rs, p.claims(object{"email_verified": false}), p.byRSA),
		"verified in text": p.signed(rs, p.claims(object{"email_verified": "true"}), p.byRSA),
		"a strange name":   p.signed(rs, p.claims(object{"email": "a b\n@example.org"}), p.byRSA),
		"no role":          p.signed(rs, p.claims(object{"groups": []string{"sre2"}}), p.byRSA),
		"groups in a text": p.signed(rs, p.claims(object{"groups": "sre,leads"}), p.byRSA),
		"two parts":        "a.b",
		"four parts":       p.signed(rs, p.claims(nil), p.byRSA) + ".eA",
		"not base64":       "a.b.%%",
		"not JSON":         b64([]byte("x")) + "." + b64([]byte("x")) + ".eA",
	}
	for what, token := range cases {
		who, err := d.ask("Bearer " + token)
		if !errors.Is(err, fleet.ErrDenied) || who.Name != "" || len(who.Rights()) > 0 {
			t.Errorf("%s: %v %v", what, who, err)
		}
	}
	signed := p.signed(rs, p.claims(nil), p.byRSA)
	if _, err := d.ask("Bearer " + signed); err != nil {
		t.Fatal(err)
	}
}

// A token with an ECDSA key is verified as strictly as one with an RSA key.
func TestInvalidES256Tokens(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	other, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	large, err2 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	edwards, _, err3 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	raw, err := large.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	sealing := p.ecKey("enc", &p.ec.PublicKey)
	sealing["use"] = "enc"
	p.keys = append(p.keys, sealing, object{"kty": "EC", "kid": "large", "crv": "P-384", "x": b64(raw[1:49]),
		"y": b64(raw[49:])},
		object{"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": b64(edwards)})
	es := object{"alg": "ES256", "kid": "e1"}
	byOther := func(sum []byte) []byte { return (&provider{t: t, ec: other}).byEC(sum) }
	// with changes a valid signature.
	with := func(change func([]byte) []byte) func([]byte) []byte {
		return func(sum []byte) []byte { return change(p.byEC(sum)) }
	}
	cases := map[string]string{
		"another key":      p.signed(es, p.claims(nil), byOther),
		"another text":     p.signed(es, p.claims(nil), func([]byte) []byte { return p.byEC(make([]byte, 32)) }),
		"alg of the other": p.signed(object{"alg": "RS256", "kid": "e1"}, p.claims(nil), p.byEC),
		"alg of none":      p.signed(object{"alg": "none", "kid": "e1"}, p.claims(nil), p.byEC),
		"no alg":           p.signed(object{"kid": "e1"}, p.claims(nil), p.byEC),
		"no signature":     p.signed(es, p.claims(nil), func([]byte) []byte { return nil }),
		"zeros":            p.signed(es, p.claims(nil), func([]byte) []byte { return make([]byte, 64) }),
		"a byte less":      p.signed(es, p.claims(nil), with(func(s []byte) []byte { return s[:63] })),
		"a byte more":      p.signed(es, p.claims(nil), with(func(s []byte) []byte { return append(s, 0) })),
		"r and s exchanged": p.signed(es, p.claims(nil),
			with(func(s []byte) []byte { return append(slices.Clone(s[32:]), s[:32]...) })),
		"DER": p.signed(es, p.claims(nil), func(sum []byte) []byte {
			s, err := ecdsa.SignASN1(rand.Reader, p.ec, sum)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}),
		"another curve":   p.signed(object{"alg": "ES256", "kid": "large"}, p.claims(nil), p.byEC),
		"another kind":    p.signed(object{"alg": "ES256", "kid": "ed"}, p.claims(nil), p.byEC),
		"key for sealing": p.signed(object{"alg": "ES256", "kid": "enc"}, p.claims(nil), p.byEC),
		"ended":           p.signed(es, p.claims(object{"exp": start().Add(-2 * time.Minute).Unix()}), p.byEC),
	}
	for what, token := range cases {
		if who, err := d.ask("Bearer " + token); !errors.Is(err, fleet.ErrDenied) || who.Name != "" || len(who.Rights()) > 0 {
			t.Errorf("%s: %v %v", what, who, err)
		}
	}
	if _, err := d.ask("Bearer " + p.signed(es, p.claims(nil), p.byEC)); err != nil {
		t.Fatal(err)
	}
}

// Rotated keys are found. Unknown keys do not cause many requests. While a provider is down, users
// with a known key are accepted.
func TestKeysRotate(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	token := func(kid string) string {
		return "Bearer " + p.signed(object{"alg": "ES256", "kid": kid},
			p.claims(object{"exp": start().Add(48 * time.Hour).Unix()}), p.byEC)
	}
	if _, err := d.ask(token("e1")); err != nil {
		t.Fatal(err)
	}
	p.keys = []object{p.ecKey("e2", &p.ec.PublicKey)}
	for range 5 {
		if _, err := d.ask(token("e2")); err == nil {
			t.Fatal("the provider was asked again at once")
		}
	}
	d.now = d.now.Add(2 * time.Minute)
	if _, err := d.ask(token("e2")); err != nil {
		t.Error(err)
	}
	if n := p.asked.Load(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	p.down.Store(true)
	d.now = d.now.Add(2 * time.Hour)
	if _, err := d.ask(token("e2")); err != nil {
		t.Errorf("while the provider is down: %v", err)
	}
	if _, err := d.ask(token("e1")); err == nil {
		t.Error("a key that was taken away is believed")
	}
	p.down.Store(false)
	p.keys = []object{{"kty": "oct", "k": "AA"}} // nothing that signs: it is out of order
	d.now = d.now.Add(2 * time.Minute)
	if _, err := d.ask(token("e2")); err != nil {
		t.Errorf("while the provider shows no keys: %v", err)
	}
	p.keys = []object{p.ecKey("e3", &p.ec.PublicKey)}
	d.now = d.now.Add(2 * time.Hour)
	if _, err := d.ask(token("e2")); err == nil {
		t.Error("a key that was taken away is believed when the provider is back")
	}
}

func TestProviderThatLies(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	gate := p.gate(d)
	gate.Issuer = p.server.URL + "/"
	token := p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(object{"iss": gate.Issuer}), p.byRSA)
	if _, err := d.ask("Bearer " + token); err == nil || errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v", err)
	}
	for _, bad := range []*access.Provider{{Issuer: "http://x", Client: "c"}, {Issuer: "https://x"},
		{Issuer: "https://x", Client: "c", Rules: []access.Rule{{Claim: "a", Value: "b", Role: "root"}}}} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken", bad.Issuer)
		}
	}
}

// No ID token causes a panic or is accepted by chance.
func FuzzIDToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add(b64([]byte(`{"alg":"RS256","kid":"x"}`)) + "." +
		b64([]byte(`{"iss":"https://x","aud":["y"],"exp":1e300,"sub":"s"}`)) + ".AA")
	f.Fuzz(func(t *testing.T, text string) {
		d := newDoor(t)
		d.gate.OIDC = &access.Provider{Issuer: "https://x.invalid", Client: "y", HTTP: &http.Client{Transport: nowhere{}}}
		if _, err := d.ask("Bearer " + text); err == nil {
			t.Fatalf("%q comes in", text)
		}
	})
}

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }
