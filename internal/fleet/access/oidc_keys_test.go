package access_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// bits returns the largest number of n bits, which is odd.
func bits(n uint) *big.Int {
	one := big.NewInt(1)
	return new(big.Int).Sub(new(big.Int).Lsh(one, n), one)
}

// with returns an object with one changed field.
func with(o object, field string, value any) object {
	out := object{}
	for k, v := range o {
		out[k] = v
	}
	out[field] = value
	return out
}

// TestKeysThatAreTaken: only strong keys for RS256 and ES256 signatures are accepted.
func TestKeysThatAreTaken(t *testing.T) {
	p := newProvider(t)
	rsa, ec := p.keys[0], p.keys[1]
	modulus := func(n *big.Int) object { return with(rsa, "n", b64(n.Bytes())) }
	exponent := func(e int64) object { return with(rsa, "e", b64(big.NewInt(e).Bytes())) }
	cut := func(o object, field string) object { return with(o, field, o[field].(string)[2:]) }
	x, err1 := base64.RawURLEncoding.DecodeString(ec["x"].(string))
	y, err2 := base64.RawURLEncoding.DecodeString(ec["y"].(string))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		key   object
		taken bool
	}{
		"RSA":                                 {rsa, true},
		"RSA without use":                     {with(rsa, "use", ""), true},
		"RSA without alg":                     {with(rsa, "alg", ""), true},
		"RSA for encryption":                  {with(rsa, "use", "enc"), false},
		"RSA for RS512":                       {with(rsa, "alg", "RS512"), false},
		"RSA of 2047 bits":                    {modulus(bits(2047)), false},
		"RSA of 2048 bits":                    {modulus(bits(2048)), true},
		"RSA of 8192 bits":                    {modulus(bits(8192)), true},
		"RSA of 8193 bits":                    {modulus(bits(8193)), false},
		"RSA, even":                           {modulus(new(big.Int).Sub(bits(2048), big.NewInt(1))), false},
		"RSA, exponent 1":                     {exponent(1), false},
		"RSA, exponent 3":                     {exponent(3), true},
		"RSA, exponent even":                  {exponent(65536), false},
		"RSA, exponent 31 bits":               {exponent(1<<31 - 1), true},
		"RSA, exponent 32 bits":               {exponent(1<<31 + 1), false},
		"RSA, exponent not text":              {with(rsa, "e", "%"), false},
		"EC":                                  {ec, true},
		"EC for ES256":                        {with(ec, "alg", "ES256"), true},
		"EC for ES384":                        {with(ec, "alg", "ES384"), false},
		"EC of another curve":                 {with(ec, "crv", "P-384"), false},
		"EC, x too short":                     {cut(ec, "x"), false},
		"EC, y too short":                     {cut(ec, "y"), false},
		"EC, not on the curve":                {with(ec, "y", ec["x"]), false},
		"RSA, n with %":                       {with(rsa, "n", rsa["n"].(string)+"%"), false},
		"EC, x and y divided at another byte": {with(with(ec, "x", b64(x[:31])), "y", b64(append(x[31:], y...))), false},
		"EC named OKP":                        {with(ec, "kty", "OKP"), false},
		"EC named RSA":                        {with(ec, "kty", "RSA"), false},
		"RSA named EC":                        {with(rsa, "kty", "EC"), false},
	} {
		d := newDoor(t)
		p.gate(d)
		p.keys = []object{c.key}
		token := p.signed(object{"alg": "RS256", "kid": "another"}, p.claims(nil), p.byRSA)
		_, err := d.ask("Bearer " + token)
		// A provider without any usable key is out of order; one with a key denies a token of another key.
		if taken := errors.Is(err, fleet.ErrDenied); err == nil || taken != c.taken {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTimesOfIDTokens: clocks may differ by a minute, but not by a second more. A token without an
// expiry is refused, also by a hub whose clock is not set.
func TestTimesOfIDTokens(t *testing.T) {
	p := newProvider(t)
	rs := object{"alg": "RS256", "kid": "r1"}
	at := func(d time.Duration) int64 { return start().Add(d).Unix() }
	for what, c := range map[string]struct {
		claims object
		now    time.Time
		good   bool
	}{
		"ended 59 s ago":     {object{"exp": at(-59 * time.Second)}, start(), true},
		"ended 60 s ago":     {object{"exp": at(-time.Minute)}, start(), false},
		"begins in 60 s":     {object{"nbf": at(time.Minute)}, start(), true},
		"begins in 61 s":     {object{"nbf": at(61 * time.Second)}, start(), false},
		"issued in 60 s":     {object{"iat": at(time.Minute)}, start(), true},
		"issued in 61 s":     {object{"iat": at(61 * time.Second)}, start(), false},
		"no end, clock at 0": {object{"exp": nil, "iat": nil}, time.Unix(0, 0), false},
	} {
		d := newDoor(t)
		p.gate(d)
		d.now = c.now
		who, err := d.ask("Bearer " + p.signed(rs, p.claims(c.claims), p.byRSA))
		if c.good != (err == nil) || c.good != (who.Name != "") || err != nil && !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%s: %v %v", what, who, err)
		}
	}
}

// TestSizeOfIDTokens: a token of 16 KiB is read, and one of a byte more is refused.
func TestSizeOfIDTokens(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	for size, good := range map[int]bool{16 << 10: true, 16<<10 + 1: false} {
		build := func(i int, sign func([]byte) []byte) string {
			// Base64 texts do not have every length: the header is padded.
			fill := strings.Repeat("x", size*3/4-800+i/4)
			return p.signed(object{"alg": "RS256", "kid": "r1", "fill": strings.Repeat("x", i%4)},
				p.claims(object{"fill": fill}), sign)
		}
		i := 0
		for len(build(i, func([]byte) []byte { return make([]byte, 256) })) != size {
			if i++; i > 4000 {
				t.Fatalf("cannot make a token of %d bytes", size)
			}
		}
		token := build(i, p.byRSA)
		if _, err := d.ask("Bearer " + token); good != (err == nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestNamesOfIDTokens: the name is the value of the configured claim. Only an email address must be
// verified by the provider.
func TestNamesOfIDTokens(t *testing.T) {
	p := newProvider(t)
	for what, c := range map[string]struct {
		claim  string
		claims object
		name   string
	}{
		"email":                {"", nil, "ada@example.org"},
		"unknown verification": {"", object{"email_verified": nil}, ""},
		"another claim":        {"login", object{"login": "ada", "email_verified": nil}, "ada"},
		"no such claim":        {"login", nil, ""},
		"a claim of no text":   {"login", object{"login": 7}, ""},
	} {
		d := newDoor(t)
		p.gate(d).NameClaim = c.claim
		who, err := d.ask("Bearer " + p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(c.claims), p.byRSA))
		if who.Name != c.name || (err == nil) != (c.name != "") {
			t.Errorf("%s: %v %v", what, who, err)
		}
	}
}

// TestHowOftenKeysAreRequested: keys are requested again after an hour. An unknown key causes at most
// one request per minute.
func TestHowOftenKeysAreRequested(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	token := func(kid string) string {
		return "Bearer " + p.signed(object{"alg": "ES256", "kid": kid},
			p.claims(object{"exp": start().Add(48 * time.Hour).Unix()}), p.byEC)
	}
	for _, c := range []struct {
		after time.Duration
		kid   string
		asked int32
	}{
		{0, "e1", 1}, {59 * time.Second, "e9", 1}, {time.Minute, "e9", 2},
		{61 * time.Minute, "e1", 3}, {121*time.Minute - time.Second, "e1", 3}, {121 * time.Minute, "e1", 4},
	} {
		d.now = start().Add(c.after)
		if _, err := d.ask(token(c.kid)); (err == nil) != (c.kid == "e1") {
			t.Errorf("after %s: %v", c.after, err)
		}
		if n := p.asked.Load(); n != c.asked {
			t.Errorf("after %s the provider was asked %d times, want %d", c.after, n, c.asked)
		}
	}
}

// answers are the responses of a provider, by URL.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, served := a[r.URL.String()]
	if !served {
		return nil, errors.New("no such host")
	}
	status := http.StatusOK
	if rest, failed := strings.CutPrefix(body, "502 "); failed {
		status, body = http.StatusBadGateway, rest
	}
	read := io.Reader(strings.NewReader(body))
	if rest, torn := strings.CutPrefix(body, "torn "); torn {
		read = io.MultiReader(strings.NewReader(rest), iotest.ErrReader(errors.New("connection reset")))
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(read), Request: r}, nil
}

// TestAnswersOfProviders: keys are accepted only from a provider that serves its own description
// and keys over https, in at most 256 KiB.
func TestAnswersOfProviders(t *testing.T) {
	p := newProvider(t)
	raw, err := json.Marshal(object{"keys": p.keys})
	if err != nil {
		t.Fatal(err)
	}
	const issuer, known = "https://issuer.test", "https://issuer.test/.well-known/openid-configuration"
	about := func(issuer, keys string) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys) }
	right := about(issuer, "https://keys.test/")
	keys := string(raw)
	sized := func(n int) string { return keys + strings.Repeat(" ", n-len(keys)) }
	for what, c := range map[string]struct {
		answers answers
		err     string // "" if the keys are accepted
	}{
		"as it should be": {answers{known: right, "https://keys.test/": keys}, ""},
		"another issuer": {answers{known: about("https://other.test", "https://keys.test/"),
			"https://keys.test/": keys}, "another issuer"},
		"keys without TLS": {answers{known: about(issuer, "http://keys.test/"), "http://keys.test/": keys},
			"keys without https"},
		"an error with keys":  {answers{known: right, "https://keys.test/": "502 " + keys}, "Bad Gateway"},
		"no keys":             {answers{known: right}, "no such host"},
		"not JSON":            {answers{known: right, "https://keys.test/": "<html>"}, "invalid character"},
		"no description":      {answers{"https://keys.test/": keys}, "no such host"},
		"as large as allowed": {answers{known: right, "https://keys.test/": sized(256 << 10)}, ""},
		"no URL of keys":      {answers{known: about(issuer, "https://%zz/")}, "invalid URL"},
		"torn":                {answers{known: right, "https://keys.test/": "torn " + keys}, "connection reset"},
		"too large":           {answers{known: right, "https://keys.test/": sized(256<<10 + 1)}, "more than 262144 bytes"},
	} {
		d := newDoor(t)
		d.gate.OIDC = &access.Provider{Issuer: issuer, Client: "fettle", HTTP: &http.Client{Transport: c.answers},
			Rules: []access.Rule{{Claim: "groups", Value: "sre", Role: access.Operator}}}
		token := p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(object{"iss": issuer}), p.byRSA)
		_, err := d.ask("Bearer " + token)
		if (c.err == "") != (err == nil) || errors.Is(err, fleet.ErrDenied) || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestProviderWithoutClient: a provider without a configured HTTP client works.
func TestProviderWithoutClient(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d).HTTP = nil
	_, err := d.ask("Bearer " + p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(nil), p.byRSA))
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the certificate of the test server is not from a public CA: %v", err)
	}
}

// TestRulesOfProviders: a rule without a claim or a value would give its role to all users.
func TestRulesOfProviders(t *testing.T) {
	for rule, good := range map[access.Rule]bool{
		{Claim: "groups", Value: "sre", Role: access.Reader}: true,
		{Claim: "groups", Role: access.Reader}:               false,
		{Value: "sre", Role: access.Reader}:                  false,
		{Claim: "groups", Value: "sre"}:                      false,
	} {
		p := access.Provider{Issuer: "https://issuer.test", Client: "fettle", Rules: []access.Rule{rule}}
		if err := p.Check(); good != (err == nil) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
}

// TestRulesForTexts: a rule can name the whole value of a claim that is a text.
func TestRulesForTexts(t *testing.T) {
	for domain, want := range map[string][]access.Right{"example.org": {access.Read}, "example.com": nil} {
		d, p := newDoor(t), newProvider(t)
		p.gate(d)
		who, err := d.ask("Bearer " + p.signed(object{"alg": "RS256", "kid": "r1"},
			p.claims(object{"groups": nil, "hd": domain}), p.byRSA))
		if !slices.Equal(who.Rights(), want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", domain, who.Rights(), err)
		}
	}
}

// TestTextAfterClaims: a signed token whose claims are followed by other characters is refused.
func TestTextAfterClaims(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	for i := range 3 { // one of the texts has only complete groups of base64 before the last character
		token := p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(object{"fill": strings.Repeat("x", i)}), p.byRSA)
		if _, err := d.ask("Bearer " + token); err != nil {
			t.Fatal(err)
		}
		token = p.signedText(token[:strings.LastIndex(token, ".")]+"%", p.byRSA)
		if who, err := d.ask("Bearer " + token); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%v, %v", who, err)
		}
	}
}

// TestIDTokenWithoutProvider: a hub without a provider refuses every ID token.
func TestIDTokenWithoutProvider(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	token := p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(nil), p.byRSA)
	if who, err := d.ask("Bearer " + token); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v, %v", who, err)
	}
}

// TestIDTokenWhileTheStoreFails: whether a user of a provider is locked is unknown while the store
// fails, so the user is not authenticated.
func TestIDTokenWhileTheStoreFails(t *testing.T) {
	d, p := newDoor(t), newProvider(t)
	p.gate(d)
	token := p.signed(object{"alg": "RS256", "kid": "r1"}, p.claims(nil), p.byRSA)
	d.gate.Users = failing{d.users}
	if who, err := d.ask("Bearer " + token); err == nil || errors.Is(err, fleet.ErrDenied) || who.Name != "" {
		t.Errorf("%v, %v", who, err)
	}
}
