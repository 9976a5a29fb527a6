package pki

import (
	"crypto"
	"crypto/x509"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
)

// TestFreshFilesReplaceNothing: a file that must be new never replaces an existing one.
func TestFreshFilesReplaceNothing(t *testing.T) {
	f := Directory{FS: mem.NewFS(mem.Options{}), Dir: "/keys"}
	if err := f.write("a", []byte("old"), true); err != nil {
		t.Fatal(err)
	}
	if err := f.write("a", []byte("new"), true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if b, err := f.read("a"); err != nil || string(b) != "old" {
		t.Errorf("%s, %v", b, err)
	}
}

// TestFilesOfAHub: a hub does not open with fewer or more keys than it needs, or with certificates that it would not install.
func TestFilesOfAHub(t *testing.T) {
	r, a := newRegistrar(t)
	files := r.Hub.directory
	keys, err := files.read(hubKeysFile)
	if err != nil {
		t.Fatal(err)
	}
	one, err := encodeKeys(r.Hub.keys[0])
	if err != nil {
		t.Fatal(err)
	}
	open := *a.cert
	open.PermittedURIDomains, open.PermittedDNSDomainsCritical = nil, false
	stranger, err := create(&open, &open, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	certs := func(authority *x509.Certificate) []byte {
		return EncodeCertificates(append([]*x509.Certificate{authority}, r.Hub.certs[1:]...)...)
	}
	for what, c := range map[string]struct {
		file string
		text []byte
		good bool
	}{
		"its keys":             {hubKeysFile, keys, true},
		"one key":              {hubKeysFile, one, false},
		"one key too many":     {hubKeysFile, slices.Concat(keys, one), false},
		"its certificates":     {hubCertsFile, certs(a.cert), true},
		"a CA without a fleet": {hubCertsFile, certs(stranger), false},
		"one certificate":      {hubCertsFile, EncodeCertificates(a.cert), false},
		"no certificate":       {hubCertsFile, []byte("x"), false},
	} {
		before, err := files.read(c.file)
		if err == nil {
			err = files.write(c.file, c.text, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenHub(files.FS, files.Dir); (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
		if err := files.write(c.file, before, false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdentityIsOfATarget: the certificates of users and hubs are refused as the identity of an
// agent, with any name.
func TestIdentityIsOfATarget(t *testing.T) {
	r, a := newRegistrar(t)
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	id, err := TargetIDOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := r.Hub.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	target, err1 := issuer.Target(key.Public(), id, Claims{Name: "web1"}, rulesNow)
	user, err2 := issuer.User(key.Public(), string(id), time.Hour, rulesNow)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		id    fleet.TargetID
		key   crypto.Signer
		chain []*x509.Certificate
		good  bool
	}{
		"a target": {id, key, []*x509.Certificate{target, issuer.cert}, true},
		"a user":   {id, key, []*x509.Certificate{user, issuer.cert}, false},
		"a hub":    {"hub1", r.Hub.keys[0], []*x509.Certificate{r.Hub.certs[1]}, false},
		"nothing":  {id, key, nil, false},
	} {
		answer := Answer{Format: answerFormat, ID: c.id, Name: "web1", Certificates: string(EncodeCertificates(c.chain...)),
			Authorities: string(EncodeCertificates(a.cert))}
		if _, err := identityOf(answer, c.key); (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}
