package pki_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// put replaces a file of a directory of keys.
func put(t *testing.T, files host.FS, path string, text []byte) {
	t.Helper()
	f, err := files.OpenAppend(path)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, files host.FS, path string) []byte {
	t.Helper()
	f, err := files.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestIdentitiesThatFit: an identity is accepted only if all of its parts belong together.
func TestIdentitiesThatFit(t *testing.T) {
	s, other := newSite(t, "acme"), newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	path := c.Directory.Dir + "/identity.json"
	var good map[string]any
	if err := json.Unmarshal(get(t, c.Directory.FS, path), &good); err != nil {
		t.Fatal(err)
	}
	second := s.enrolled(s.host(), "web2")
	pem := func(certs ...*x509.Certificate) string { return string(pki.EncodeCertificates(certs...)) }
	key := good["key"].(string)
	for what, c2 := range map[string]struct {
		field string
		value any
		good  bool
	}{
		"as it was written":       {"format", good["format"], true},
		"a field of the future":   {"new", 1, true},
		"another format":          {"format", "fettle.identity/2", false},
		"damaged certificates":    {"certificates", "-----BEGIN", false},
		"no certificate":          {"certificates", "", false},
		"one of another key":      {"certificates", pem(second.Chain()...), false},
		"without its issuer":      {"certificates", pem(i.Certificate()), false},
		"damaged authorities":     {"authorities", "-----BEGIN", false},
		"no authority":            {"authorities", "", false},
		"another authority":       {"authorities", pem(other.authority.Certificate()), false},
		"an authority of no name": {"authorities", pem(i.Certificate()), false},
		"damaged signers":         {"signers", "-----BEGIN", false},
		"another target":          {"id", string(second.ID), false},
		"no key":                  {"key", "", false},
		"two keys":                {"key", key + key, false},
		"a damaged key":           {"key", key[:40], false},
	} {
		changed := map[string]any{}
		for k, v := range good {
			changed[k] = v
		}
		changed[c2.field] = c2.value
		b, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		put(t, c.Directory.FS, path, b)
		if got, err := c.Directory.Load(); c2.good != (err == nil) || c2.good && got.ID != i.ID || errors.Is(err, pki.ErrNoIdentity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	put(t, c.Directory.FS, path, []byte("{"))
	if _, err := c.Directory.Load(); err == nil || !strings.Contains(err.Error(), "--again") {
		t.Errorf("a damaged identity: %v", err)
	}
	if _, err := c.Enrol(t.Context(), s.url, s.token(nil), "web3"); err == nil {
		t.Error("a damaged identity is written over")
	}
}

// TestLearn: an agent stores addresses and signers of its own fleet, and forgets no signer.
func TestLearn(t *testing.T) {
	s, other := newSite(t, "acme"), newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	second := newHub(t, s.authority, "hub2")
	certs := func(all ...*x509.Certificate) []byte { return pki.EncodeCertificates(all...) }
	own := certs(signerOf(t, s.hub))
	untouched := pki.Directory{FS: mem.NewFS(mem.Options{}), Dir: "/none"}
	for what, same := range map[string]func() (*pki.Identity, error){
		"known hubs": func() (*pki.Identity, error) { return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, own) },
		"no signers": func() (*pki.Identity, error) { return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, nil) },
		"no hubs":    func() (*pki.Identity, error) { return untouched.UpdateHubs(i, nil, []string{"tls://b"}, own) },
		"no buses":   func() (*pki.Identity, error) { return untouched.UpdateHubs(i, []string{"https://a"}, nil, own) },
		"another fleet": func() (*pki.Identity, error) {
			return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, certs(signerOf(t, other.hub)))
		},
		"another kind": func() (*pki.Identity, error) {
			return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, certs(leafOf(t, second)))
		},
		"an issuer": func() (*pki.Identity, error) {
			return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, certs(issuerOf(t, second).Certificate()))
		},
		"an authority": func() (*pki.Identity, error) {
			return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, certs(s.authority.Certificate()))
		},
		"its own target": func() (*pki.Identity, error) {
			return untouched.UpdateHubs(i, i.HubURLs, i.BusURLs, certs(i.Certificate()))
		},
	} {
		if got, err := same(); err != nil || got != i {
			t.Errorf("%s: it learns %v, %v", what, got, err)
		}
	}
	if _, err := untouched.Load(); !errors.Is(err, pki.ErrNoIdentity) {
		t.Errorf("it wrote what it knows: %v", err)
	}
	if _, err := c.Directory.UpdateHubs(i, i.HubURLs, i.BusURLs, []byte("-----BEGIN")); err == nil {
		t.Error("it learns damaged signers")
	}
	for what, next := range map[string]struct {
		hubs, buses []string
		signers     []byte
		keys        int
	}{
		"a hub":    {[]string{"https://a", "https://b"}, i.BusURLs, own, 1},
		"a bus":    {i.HubURLs, []string{"tls://b"}, own, 1},
		"a signer": {i.HubURLs, i.BusURLs, certs(signerOf(t, second)), 2},
	} {
		got, err := c.Directory.UpdateHubs(i, next.hubs, next.buses, next.signers)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		kept, err := c.Directory.Load()
		if err != nil || !slices.Equal(kept.HubURLs, next.hubs) || !slices.Equal(kept.BusURLs,
			next.buses) || len(kept.Keys(nil, start(), time.Time{})) != next.keys || len(got.Keys(nil, start(), time.Time{})) != next.keys {
			t.Errorf("%s: %+v, %v", what, kept, err)
		}
		for _, h := range []*pki.Hub{s.hub, second} {
			c := kept.Signer(fleet.KeyID(publicOf(h.SigningKey())))
			if known := h == s.hub || next.keys == 2; known != (c != nil && c.Equal(signerOf(t, h))) {
				t.Errorf("%s: the certificate of a signing key is %v", what, c)
			}
		}
	}
}

// answering is a hub of the site with other answers.
func (s *site) answering(status int, answer func(e pki.Enrolment) any) string {
	return serve(s.t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var e pki.Enrolment
		if err := json.NewDecoder(q.Body).Decode(&e); err != nil {
			s.t.Error(err)
		}
		if status >= 300 && status < 400 {
			w.Header().Set("Location", s.url+"/v1/enrol")
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer(e))
	}), trustOf(s.t, s.hub, nil).ServerTLS(s.hub.TLS, s.clock.now))
}

// TestAnswersThatAreNotTaken: a client accepts only an identity of the fleet CA of its token.
func TestAnswersThatAreNotTaken(t *testing.T) {
	s, other := newSite(t, "acme"), newSite(t, "acme")
	of := func(by *site, e pki.Enrolment) pki.Answer {
		key, err := pki.ParseRequest([]byte(e.Request))
		if err != nil {
			t.Fatal(err)
		}
		id, err := pki.TargetIDOf(key)
		if err != nil {
			t.Fatal(err)
		}
		issuer := issuerOf(t, by.hub)
		cert, err := issuer.Target(key, id, pki.Claims{Name: e.Name}, start())
		if err != nil {
			t.Fatal(err)
		}
		return pki.Answer{Format: "fettle.identity/1", ID: id, Name: e.Name, Certificates: string(pki.EncodeCertificates(cert, issuer.Certificate())),
			Authorities: string(pki.EncodeCertificates(by.authority.Certificate())), Signers: string(pki.EncodeCertificates(signerOf(t, by.hub)))}
	}
	type object = map[string]string
	for what, c := range map[string]struct {
		status int
		answer func(e pki.Enrolment) any
		says   string // "" means that it is accepted
	}{
		"its own":           {200, func(e pki.Enrolment) any { return of(s, e) }, ""},
		"another fleet CA":  {200, func(e pki.Enrolment) any { return of(other, e) }, "a different fleet CA"},
		"two fleet CAs":     {200, func(e pki.Enrolment) any { a := of(s, e); a.Authorities += of(other, e).Authorities; return a }, "a different fleet CA"},
		"another key":       {200, func(e pki.Enrolment) any { return of(s, pki.EnrolmentFor(t, s.token(nil), "web1")) }, "does not belong to the key of this host"},
		"another target":    {200, func(e pki.Enrolment) any { a := of(s, e); a.ID = someTarget; return a }, "cannot use the certificate of the target"},
		"another format":    {200, func(e pki.Enrolment) any { a := of(s, e); a.Format = "x"; return a }, "format"},
		"too much":          {200, func(e pki.Enrolment) any { a := of(s, e); a.Name += strings.Repeat(" ", 4<<20); return a }, "more than"},
		"no object":         {200, func(pki.Enrolment) any { return "x" }, "cannot read the answer"},
		"waiting":           {202, func(e pki.Enrolment) any { a := of(s, e); a.Pending = "somebody"; return a }, "waiting for approval"},
		"a refusal":         {403, func(pki.Enrolment) any { return object{"error": "no room"} }, "no room"},
		"no refusal":        {403, func(pki.Enrolment) any { return object{"error": ""} }, "Check that this is the address of a hub"},
		"a page":            {500, func(pki.Enrolment) any { return "x" }, "its HTTP status is 500"},
		"another direction": {307, func(pki.Enrolment) any { return object{} }, "its HTTP status is 307"},
	} {
		host := s.host()
		i, err := host.Enrol(t.Context(), s.answering(c.status, c.answer), s.token(nil), "web1")
		if c.says == "" {
			if err != nil || i.Name != "web1" {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := host.Directory.Load(); !errors.Is(err, pki.ErrNoIdentity) {
			t.Errorf("%s is kept: %v", what, err)
		}
	}
	for _, address := range []string{"http://127.0.0.1:1", "127.0.0.1:1", "https://", "://"} {
		if _, err := s.host().Enrol(t.Context(), address, s.token(nil), "web1"); err == nil || !strings.Contains(err.Error(), "https://NAME:PORT") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestAuthorityOfItsKey: the files of a fleet CA belong together.
func TestAuthorityOfItsKey(t *testing.T) {
	a, b := mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{})
	own, err1 := pki.NewCA(a, "/a", "acme", start())
	other, err2 := pki.NewCA(b, "/a", "acme", start())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	h := newHub(t, own, "hub1")
	key := get(t, a, "/a/authority.key")
	for what, c := range map[string]struct {
		file string
		text []byte
		good bool
	}{
		"its own certificate": {"authority.pem", pki.EncodeCertificates(own.Certificate()), true},
		"another":             {"authority.pem", pki.EncodeCertificates(other.Certificate()), false},
		"none":                {"authority.pem", nil, false},
		"both":                {"authority.pem", pki.EncodeCertificates(own.Certificate(), other.Certificate()), false},
		"a hub":               {"authority.pem", pki.EncodeCertificates(leafOf(t, h)), false},
		"rubbish":             {"authority.pem", []byte("x"), false},
		"its own key":         {"authority.key", key, true},
		"another key":         {"authority.key", get(t, b, "/a/authority.key"), false},
		"two keys":            {"authority.key", slices.Concat(key, key), false},
		"no key":              {"authority.key", nil, false},
		"a damaged key":       {"authority.key", key[:50], false},
	} {
		before := get(t, a, "/a/"+c.file)
		put(t, a, "/a/"+c.file, c.text)
		if got, err := pki.OpenCA(a, "/a"); c.good != (err == nil) || c.good && got.Fleet() != "acme" {
			t.Errorf("%s: %v", what, err)
		}
		put(t, a, "/a/"+c.file, before)
	}
}

// TestHubWithoutCertificates: all operations of a hub without certificates fail with the reason.
func TestHubWithoutCertificates(t *testing.T) {
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, "acme")
	id := s.enrolled(s.host(), "web1").ID
	r := &pki.Registrar{Hub: h, Tokens: s.tokens, Targets: s.targets, RevocationStore: s.facts, Names: s.names, Now: s.clock.now}
	enrolment := pki.EnrolmentFor(t, s.token(nil), "web2")
	for what, do := range map[string]func() error{
		"name":        func() error { _, err := h.Name(); return err },
		"authority":   func() error { _, err := h.Authority(); return err },
		"TLS":         func() error { _, err := h.TLS(); return err },
		"issuer":      func() error { _, err := h.Issuer(); return err },
		"signer":      func() error { _, err := h.Signer(); return err },
		"certificate": func() error { _, err := h.Certificate(); return err },
		"renewal":     func() error { _, err := h.RenewAt(); return err },
		"trust":       func() error { _, err := h.Trust(nil); return err },
		"keys":        func() error { _, err := h.Keys(nil, nil, start()); return err },
		"enrolling":   func() error { _, err := r.Enrol(t.Context(), enrolment, loopback()); return err },
		"renewing":    func() error { _, err := r.Renew(t.Context(), nil); return err },
		"a token": func() error {
			_, err := r.CreateToken(t.Context(), pki.Terms{Uses: 1, Expires: 1 << 40}, "ada")
			return err
		},
		"revoking":    func() error { return r.Revoke(t.Context(), pki.Revocation{Serial: "1"}) },
		"retiring":    func() error { _, err := r.SetStanding(t.Context(), id, fleet.Retired, "ada", ""); return err },
		"withdrawing": func() error { return r.Withdraw(t.Context(), "hub2", nil, "ada", "") },
		"facts":       func() error { return r.AcceptRevocations(t.Context(), nil) },
	} {
		if err := do(); !errors.Is(err, pki.ErrNoCertificates) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
