package pki_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

// TestTokenText: a token may be surrounded by space, and has one form.
func TestTokenText(t *testing.T) {
	token := someToken(t)
	text := token.Text()
	for _, good := range []string{text, " " + text, text + "\n", "\t" + text + " \r\n"} {
		if got, err := pki.ParseToken(good); err != nil || got != token {
			t.Errorf("%q: %v", good, err)
		}
	}
	lower := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	// signed returns a token with a correct check sum.
	signed := func(parts ...string) string {
		body := strings.Join(parts, "-")
		sum := sha256.Sum256([]byte(body))
		return body + "-" + lower.EncodeToString(sum[:])[:6]
	}
	p := strings.Split(text, "-")
	if signed(p[:4]...) != text {
		t.Fatal("the check sum is another one")
	}
	// The last letter of 256 bits has four unused bits.
	last := strings.IndexByte("abcdefghijklmnopqrstuvwxyz234567", p[3][51])
	twin := p[3][:51] + string("abcdefghijklmnopqrstuvwxyz234567"[last^1])
	for what, bad := range map[string]string{
		"another word":    signed("kettle", p[1], p[2], p[3]),
		"an ID too short": signed("fettle", p[1][1:], p[2]+"a", p[3]),
		"a strange ID":    signed("fettle", "1bcdefgh", p[2], p[3]),
		"a secret":        signed("fettle", p[1], "1"+p[2][1:], p[3]),
		"a digest":        signed("fettle", p[1], p[2], "1"+p[3][1:]),
		"another form":    signed("fettle", p[1], p[2], twin),
		"a longer secret": signed("fettle", p[1], p[2]+"a", p[3][1:]),
	} {
		if _, err := pki.ParseToken(bad); err == nil {
			t.Errorf("%s: %s is read", what, bad)
		}
	}
}

// TestTermsOfTokens: a token has a number of uses and an expiry; a token for a hub has no other
// terms.
func TestTermsOfTokens(t *testing.T) {
	now := start()
	end := now.Unix() + 1
	for what, c := range map[string]struct {
		terms pki.Terms
		good  bool
	}{
		"one use":           {pki.Terms{Uses: 1, Expires: end}, true},
		"a thousand":        {pki.Terms{Uses: 1000, Expires: end}, true},
		"more":              {pki.Terms{Uses: 1001, Expires: end}, false},
		"none":              {pki.Terms{Expires: end}, false},
		"at its end":        {pki.Terms{Uses: 1, Expires: end - 1}, false},
		"a fleet":           {pki.Terms{Uses: 1, Expires: end, Fleet: "prod"}, true},
		"a strange fleet":   {pki.Terms{Uses: 1, Expires: end, Fleet: "a b"}, false},
		"a pattern":         {pki.Terms{Uses: 1, Expires: end, Names: "web[0-9]"}, true},
		"a damaged pattern": {pki.Terms{Uses: 1, Expires: end, Names: "web["}, false},
		"a network":         {pki.Terms{Uses: 1, Expires: end, Networks: []string{"192.0.2.0/24"}}, true},
		"no network":        {pki.Terms{Uses: 1, Expires: end, Networks: []string{"192.0.2.0/24", "192.0.2.1"}}, false},
		"a strange label":   {pki.Terms{Uses: 1, Expires: end, Labels: map[string]string{"a b": "c"}}, false},
		"a hub":             {pki.Terms{Uses: 1, Expires: end, Hub: true}, true},
		"two hubs":          {pki.Terms{Uses: 2, Expires: end, Hub: true}, false},
		"a hub to approve":  {pki.Terms{Uses: 1, Expires: end, Hub: true, Approve: true}, false},
		"a hub with labels": {pki.Terms{Uses: 1, Expires: end, Hub: true, Labels: map[string]string{"a": "b"}}, false},
		"a hub of a fleet":  {pki.Terms{Uses: 1, Expires: end, Hub: true, Fleet: "prod"}, false},
	} {
		if err := c.terms.Check(now); c.good != (err == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestScopeOfTokens: a token is valid for its names and networks, for its uses, and until its
// expiry. A token for a hub enrols no target.
func TestScopeOfTokens(t *testing.T) {
	s := newSite(t, "acme")
	networks := func(all ...string) func(*pki.Terms) { return func(t *pki.Terms) { t.Networks = all } }
	for what, c := range map[string]struct {
		terms func(*pki.Terms)
		from  string
		after time.Duration
		good  bool
	}{
		"any network":      {nil, "203.0.113.1", 0, true},
		"in its network":   {networks("192.0.2.0/24", "203.0.113.0/24"), "203.0.113.1", 0, true},
		"in no network":    {networks("192.0.2.0/24"), "203.0.113.1", 0, false},
		"a mapped address": {networks("192.0.2.0/24"), "::ffff:192.0.2.7", 0, true},
		"a host's network": {networks("192.0.2.9/24"), "192.0.2.7", 0, true},
		"before its end":   {nil, "127.0.0.1", time.Hour - time.Second, true},
		"at its end":       {nil, "127.0.0.1", time.Hour, false},
		"a name that fits": {func(t *pki.Terms) { t.Names = "web*" }, "127.0.0.1", 0, true},
		"another name":     {func(t *pki.Terms) { t.Names = "db*" }, "127.0.0.1", 0, false},
		"for a hub":        {forAHub, "127.0.0.1", 0, false},
	} {
		e := pki.EnrolmentFor(t, s.token(c.terms), "web"+tokenName())
		s.clock.forward(c.after)
		_, err := s.registrar.Enrol(t.Context(), e, netip.MustParseAddr(c.from))
		s.clock.forward(-c.after)
		refusal, theirs := errors.AsType[*pki.Refusal](err)
		if c.good != (err == nil) || err != nil && (!theirs || refusal.Status != http.StatusForbidden) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRequestsThatAreNotRead: requests without an address, without JSON, or above the size limit
// are refused.
func TestRequestsThatAreNotRead(t *testing.T) {
	s := newSite(t, "acme")
	e, err := json.Marshal(pki.EnrolmentFor(t, s.token(nil), "web1"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(from string, body []byte) *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodPost, "/v1/enrol", bytes.NewReader(body))
		q.RemoteAddr = from
		w := httptest.NewRecorder()
		s.registrar.ServeEnrol(w, q)
		return w
	}
	sized := func(n int) []byte { return append(bytes.Clone(e), bytes.Repeat([]byte(" "), n-len(e))...) }
	for what, c := range map[string]struct {
		from   string
		body   []byte
		status int
	}{
		"from nowhere":       {"nowhere", e, 400},
		"no JSON":            {"127.0.0.1:1", []byte("x"), 400},
		"two":                {"127.0.0.1:1", append(bytes.Clone(e), e...), 400},
		"a field too many":   {"127.0.0.1:1", append(bytes.Clone(e[:len(e)-1]), `,"x":1}`...), 400},
		"another format":     {"127.0.0.1:1", bytes.Replace(e, []byte("enrolment/1"), []byte("enrolment/2"), 1), 400},
		"too large":          {"127.0.0.1:1", sized(8<<10 + 1), 400},
		"as large as it may": {"127.0.0.1:1", sized(8 << 10), 200},
	} {
		w := ask(c.from, c.body)
		if w.Code != c.status || w.Header().Get("Content-Type") != "application/json" ||
			w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %d %v %s", what, w.Code, w.Header(), w.Body)
		}
		if failed := c.status != 200; failed != strings.HasPrefix(w.Body.String(), `{"error":"cannot `) {
			t.Errorf("%s: %s", what, w.Body)
		}
	}
	s.registrar.Signers = func(context.Context) ([]*x509.Certificate, error) { return nil, errors.New("no quorum") }
	e, err = json.Marshal(pki.EnrolmentFor(t, s.token(nil), "web2"))
	if err != nil {
		t.Fatal(err)
	}
	if w := ask("127.0.0.1:1", e); w.Code != 503 || w.Header().Get("Retry-After") != "60" {
		t.Errorf("a hub that does not know its signers answers %d %s", w.Code, w.Body)
	}
	if err := s.registrar.AcceptRevocations(t.Context(), nil); err == nil || err.Error() != "no quorum" {
		t.Errorf("a hub that does not know its signers takes facts: %v", err)
	}
	pending, err := json.Marshal(pki.EnrolmentFor(t, s.token(func(t *pki.Terms) { t.Approve = true }), "web3"))
	if err != nil {
		t.Fatal(err)
	}
	if w := ask("127.0.0.1:1", pending); w.Code != 202 || w.Header().Get("Retry-After") != "60" {
		t.Errorf("a target to approve gets %d %v", w.Code, w.Header())
	}
}
