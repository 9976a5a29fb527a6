package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host/mem"
)

// TestAnswerOfAHub: a client accepts only an answer of the known format, with a status of success
// and within the size limit.
func TestAnswerOfAHub(t *testing.T) {
	good := []byte(`{"format":"fettle.identity/1","id":"x"}`)
	padded := func(n int) []byte { return append(good, bytes.Repeat([]byte(" "), n-len(good))...) }
	for name, c := range map[string]struct {
		status int
		body   []byte
		says   string
	}{
		"good":          {200, good, ""},
		"pending":       {202, good, ""},
		"the most":      {200, padded(4 << 20), ""},
		"one byte more": {200, padded(4<<20 + 1), "of more than"},
		"created":       {201, good, "its HTTP status is 201"},
		"another page":  {404, []byte("<html>"), "Check that this is the address of a hub"},
		"empty problem": {403, []byte(`{"error":""}`), "its HTTP status is 403"},
		"refusal":       {403, []byte(`{"error":"no"}`), "no"},
		"not JSON":      {200, []byte("x"), "cannot read the answer of a hub: "},
		"another format": {200, []byte(`{"format":"fettle.identity/2"}`),
			"this version of fettle supports fettle.identity/1"},
	} {
		a, err := readAnswer(c.status, c.body)
		if c.says == "" && (err != nil || a.ID != "x") || c.says != "" &&
			(err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if refusal, is := errors.AsType[*Refusal](err); is != (name == "refusal") || is && refusal.Status != 403 {
			t.Errorf("%s: refusal %v", name, err)
		}
	}
}

// TestFilesOfADirectory: a file has at most a MiB, and no other user may read or write it.
func TestFilesOfADirectory(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	f := Directory{FS: files, Dir: "/keys"}
	for size, good := range map[int]bool{0: true, 1: true, 1 << 20: true, 1<<20 + 1: false, 2 << 20: false} {
		if err := f.write("a", make([]byte, size), false); err != nil {
			t.Fatal(err)
		}
		b, err := f.read("a")
		if good && (err != nil || len(b) != size) || !good &&
			(err == nil || b != nil || !strings.Contains(err.Error(), "it has more than 1048576 bytes")) {
			t.Errorf("%d bytes: %d, %v", size, len(b), err)
		}
	}
	if err := f.write("b", []byte("x"), true); err != nil {
		t.Fatal(err)
	}
	for bit := range 9 {
		mode := uint32(0o600) | 1<<bit
		node, err := files.OpenNode("/keys/b")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(node.Chmod(mode), node.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.read("b"); (err == nil) != (mode&0o077 == 0) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestKeysInText: a key file has the expected number of blocks of one type, and no other content.
func TestKeysInText(t *testing.T) {
	pemOf := func(n int) []byte {
		var keys []crypto.Signer
		for range n {
			k, err := newP256()
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
		text, err := encodeKeys(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for n, good := range map[int]bool{0: true, 1: true, 4: true, 5: false} {
		if keys, err := parseKeys(pemOf(n)); (err == nil) != good || good && len(keys) != n {
			t.Errorf("%d keys: %d, %v", n, len(keys), err)
		}
		if _, err := oneKey(pemOf(n)); (err == nil) != (n == 1) {
			t.Errorf("one of %d keys: %v", n, err)
		}
	}
	one := string(pemOf(1))
	for what, text := range map[string]string{
		"words before": "x\n" + one, "words after": one + "x", "words between": one + "x\n" + one,
		"a header":    strings.Replace(one, "-----\n", "-----\nA: b\n\n", 1),
		"other block": strings.ReplaceAll(one, "PRIVATE KEY", "CERTIFICATE"),
		"cut off":     one[:len(one)-10],
		"damaged":     "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		if keys, err := parseKeys([]byte(text)); err == nil || keys != nil || strings.Contains(err.Error(), one[40:60]) {
			t.Errorf("%s: %d keys, %v", what, len(keys), err)
		}
	}
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeKeys(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseKeys(text); err == nil || !strings.Contains(err.Error(), "neither P-256 nor ed25519") {
		t.Errorf("P-384: %v", err)
	}
	if _, err := encodeKeys(nil); err == nil {
		t.Error("no key is written")
	}
}

// TestHeadersOfAnswers: answers are not cached, and clients that must ask again receive the time.
func TestHeadersOfAnswers(t *testing.T) {
	for status, again := range map[int]string{200: "", 202: "60", 400: "", 401: "", 403: "", 409: "", 429: "60",
		503: "60"} {
		w := httptest.NewRecorder()
		respond(w, status, problem{"x"})
		if w.Code != status || w.Header().Get("Retry-After") != again || w.Header().Get("Cache-Control") != "no-store" ||
			w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"error":"x"`) {
			t.Errorf("%d: %v %s", w.Code, w.Header(), w.Body)
		}
	}
	for from, want := range map[string]string{"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1",
		"[fe80::1%eth0]:5": "fe80::1", "x": "", "": ""} {
		a, err := addressOf(&http.Request{RemoteAddr: from})
		if (err == nil) != (want != "") || err == nil && a.String() != want {
			t.Errorf("%q: %s, %v", from, a, err)
		}
	}
}

// TestMomentsOfCertificates: a certificate is never valid before or after its issuer, and is
// renewed after two thirds of its lifetime.
func TestMomentsOfCertificates(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	a, err := NewCA(mem.NewFS(mem.Options{}), "/a", "acme", at)
	if err != nil {
		t.Fatal(err)
	}
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	name := Name{Fleet: "acme", Kind: HubKind, ID: "hub1"}
	for what, c := range map[string]struct{ now, begin, end time.Time }{
		"in the middle":    {at.Add(time.Hour), at.Add(time.Hour - Backdate), at.Add(time.Hour + HubLife)},
		"at the beginning": {at, at.Add(-Backdate), at.Add(HubLife)},
		"before it":        {at.Add(-Backdate / 2), at.Add(-Backdate), at.Add(-Backdate/2 + HubLife)},
		"near the end": {a.cert.NotAfter.Add(-time.Second), a.cert.NotAfter.Add(-time.Second - Backdate),
			a.cert.NotAfter},
		"at the end":        {a.cert.NotAfter, time.Time{}, time.Time{}},
		"long after it all": {a.cert.NotAfter.Add(time.Hour), time.Time{}, time.Time{}},
	} {
		cert, err := a.sign(&x509.Certificate{}, name, key.Public(), c.now)
		if c.end.IsZero() {
			if err == nil || !strings.Contains(err.Error(), "Renew the certificates of the hub first") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || !cert.NotBefore.Equal(c.begin) || !cert.NotAfter.Equal(c.end) ||
			cert.KeyUsage != x509.KeyUsageDigitalSignature || cert.SerialNumber.Sign() <= 0 {
			t.Errorf("%s: %+v, %v", what, cert, err)
		}
	}
	c := &x509.Certificate{NotBefore: at, NotAfter: at.Add(3 * time.Hour)}
	if got := RenewAt(c); !got.Equal(at.Add(2 * time.Hour)) {
		t.Errorf("renewed at %s", got)
	}
	for life, good := range map[time.Duration]bool{-1: false, 0: false, 1 * time.Second: true, UserLife: true,
		UserLife + 1: false} {
		i := &Issuer{cert: a.cert, key: a.key, fleet: "acme"}
		if _, err := i.User(key.Public(), "ada", life, at); (err == nil) != good {
			t.Errorf("a user for %s: %v", life, err)
		}
	}
	if !slices.Equal(hubKinds(), []Kind{HubKind, IssuerKind, SignerKind}) {
		t.Error("the order of certificates has changed")
	}
}
