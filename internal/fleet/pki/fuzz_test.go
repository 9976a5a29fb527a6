package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

func someToken(t testing.TB) pki.Token {
	t.Helper()
	token, _, err := pki.NewToken(pki.Terms{Uses: 1, Expires: start().Add(time.Hour).Unix()}, [32]byte{1, 2, 3}, "ada",
		start())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A parsed token is encoded as the same text, and an error contains no part of it.
func FuzzToken(f *testing.F) {
	f.Add(someToken(f).Text())
	f.Add("fettle-aaaaaaaa-" + strings.Repeat("a", 32) + "-" + strings.Repeat("a", 52) + "-aaaaaa")
	f.Add(" fettle---- ")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := pki.ParseToken(text)
		if err == nil && token.Text() != strings.TrimSpace(text) {
			t.Fatalf("%q is read and written as %q", text, token.Text())
		}
		if err != nil && len(text) > 60 && strings.Contains(err.Error(), text[20:40]) {
			t.Fatalf("%v", err)
		}
	})
}

// Each mistyped character of a token is detected.
func TestMistypedToken(t *testing.T) {
	text := someToken(t).Text()
	for i := range text {
		for _, c := range []byte("a7-Z ") {
			wrong := []byte(text)
			if wrong[i] == c {
				continue
			}
			wrong[i] = c
			if _, err := pki.ParseToken(string(wrong)); err == nil {
				t.Fatalf("%s is read", wrong)
			}
		}
		if _, err := pki.ParseToken(text[:i]); err == nil {
			t.Fatalf("%s is read", text[:i])
		}
	}
}

func request(t testing.TB, template *x509.CertificateRequest, key any) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// A request contains only a key of a supported type.
func TestRequests(t *testing.T) {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := request(t, &x509.CertificateRequest{}, p256)
	if key, err := pki.ParseRequest(good); err != nil || !p256.PublicKey.Equal(key) {
		t.Fatal(err)
	}
	bad := map[string][]byte{
		"P-384":      request(t, &x509.CertificateRequest{}, p384),
		"RSA":        request(t, &x509.CertificateRequest{}, weak),
		"a DNS name": request(t, &x509.CertificateRequest{DNSNames: []string{"hub"}}, p256),
		"an address": request(t, &x509.CertificateRequest{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, p256),
		"a URI": request(t, &x509.CertificateRequest{URIs: []*url.URL{{Scheme: "fettle", Host: "acme",
			Path: "/hub/h"}}}, p256),
		"a subject": request(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "root"}}, p256),
		"an extension": request(t, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{{Id: []int{2, 25,
			1718906725}, Value: []byte("{}")}}}, p256),
		"two":           append(bytes.Clone(good), good...),
		"none":          nil,
		"words between": append([]byte("hello\n"), good...),
		"too long":      bytes.Repeat([]byte("\n"), 5000),
	}
	for size, taken := range map[int]bool{4 << 10: true, 4<<10 + 1: false} {
		padded := append(bytes.Clone(good), bytes.Repeat([]byte("\n"), size-len(good))...)
		if _, err := pki.ParseRequest(padded); (err == nil) != taken {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	block, _ := pem.Decode(good)
	block.Bytes[len(block.Bytes)-1] ^= 1
	bad["another signature"] = pem.EncodeToMemory(block)
	for what, text := range bad {
		if _, err := pki.ParseRequest(text); err == nil || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// No request causes a panic, and an accepted key has a name.
func FuzzRequest(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request(f, &x509.CertificateRequest{}, key))
	f.Add(request(f, &x509.CertificateRequest{DNSNames: []string{"a"}}, key))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := pki.ParseRequest(text)
		if err != nil {
			return
		}
		if _, err := pki.TargetIDOf(key); err != nil {
			t.Fatal(err)
		}
	})
}

// A parsed extension is valid, and its encoding is parsed to the same value.
func FuzzClaims(f *testing.F) {
	for _, c := range []pki.Claims{{Name: "web1"},
		{Name: "web1", Fleet: "prod", Labels: map[string]string{"role": "web", "b": ""}}} {
		b, err := c.Bytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"format":"fettle.claims/1","name":"a"} {}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := pki.ParseClaims(b)
		if err != nil {
			return
		}
		again, err := c.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		d, err := pki.ParseClaims(again)
		if err != nil || d.Name != c.Name || d.Fleet != c.Fleet || len(d.Labels) != len(c.Labels) {
			t.Fatalf("%+v, %+v, %v", c, d, err)
		}
	})
}

// A parsed name is encoded as the same text.
func FuzzName(f *testing.F) {
	f.Add("fettle://acme/hub/hub1")
	f.Add("fettle://acme/person/a%2fb")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := pki.ParseName(s); err == nil && n.String() != s {
			t.Fatalf("%q is read and written as %q", s, n)
		}
	})
}
