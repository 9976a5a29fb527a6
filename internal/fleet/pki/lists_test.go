package pki_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/test/needs"
)

// Other programs refuse revoked certificates: openssl, which checks only the certificate itself,
// and nginx and curl, which check its whole chain.
func TestListsByOpenSSL(t *testing.T) {
	openssl := needs.Program(t, "openssl")
	s, authority := newServices(t)
	parent, err := s.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	bad, err := s.Issue(curveKey(t).Public(), []string{"bad.example.org"}, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	good, err := s.Issue(curveKey(t).Public(), []string{"192.0.2.1", "good.example.org"}, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List([]pki.RevokedCertificate{{Serial: pki.SerialOf(bad), At: servicesNow.Unix()}}, 1, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	root, err := authority.List(nil, 1, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := file("authority.pem", pki.EncodeCertificates(authority.Certificate()))
	crl := file("crl.pem", append(list, root...))
	for _, look := range []string{"-crl_check", "-crl_check_all"} {
		for _, c := range []*x509.Certificate{good, bad} {
			leaf := file("leaf.pem", pki.EncodeCertificates(c))
			out, err := exec.CommandContext(t.Context(), openssl, "verify", look, "-purpose", "sslserver", "-attime",
				"1795435200", "-CAfile", ca, "-untrusted", file("chain.pem", pki.EncodeCertificates(parent)), "-CRLfile", crl,
				leaf).CombinedOutput()
			if (err == nil) != (c == good) || c == bad && !strings.Contains(string(out), "revoked") {
				t.Errorf("%s of %v: %v %s", look, c.DNSNames, err, out)
			}
		}
	}
}

// TestListsOfManyHubs: the fleet had 40 hubs in a short time, and agents accept the lists of all of them.
func TestListsOfManyHubs(t *testing.T) {
	_, authority := newServices(t)
	var lists, issuers []byte
	for i := range 40 {
		s, err := pki.OpenServices(mem.New(mem.Options{}), "/keys")
		if err != nil {
			t.Fatal(err)
		}
		request, err1 := s.Request()
		certificates, err2 := authority.CertifyServices(request, fmt.Sprintf("hub%d", i), []string{"hub.example.org"},
			servicesNow)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		err3 := s.Install(certificates)
		list, err4 := s.List([]pki.RevokedCertificate{{Serial: fmt.Sprintf("%x", i+16), At: servicesNow.Unix()}}, 1,
			servicesNow)
		own, err5 := s.Certificate()
		if err := errors.Join(err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		lists, issuers = append(lists, list...), append(issuers, pki.EncodeCertificates(own)...)
	}
	all, err1 := pki.ParseLists(lists)
	certs, err2 := pki.ParseCertificates(issuers)
	roots := []*x509.Certificate{authority.Certificate()}
	if err := errors.Join(err1, err2, pki.VerifyLists(all, certs, roots)); err != nil || len(all) != 40 ||
		!all.Has("37", "hub39") {
		t.Errorf("%d lists: %v", len(all), err)
	}
	if pki.VerifyLists(all, certs[1:], roots) == nil {
		t.Error("a list without its issuer is accepted")
	}
}

// A list is accepted if it is of this fleet. The newer of two lists wins, unless it lacks a revoked
// certificate.
func TestLists(t *testing.T) {
	s, authority := newServices(t)
	parent, _ := s.Certificate()
	stranger, foreign := newServices(t)
	strangers, _ := stranger.Certificate()
	roots := []*x509.Certificate{authority.Certificate()}
	made := func(s *pki.Services, number int64, at time.Time, serials ...string) pki.Lists {
		t.Helper()
		var all []pki.RevokedCertificate
		for _, n := range serials {
			all = append(all, pki.RevokedCertificate{Serial: n, At: servicesNow.Unix()})
		}
		text, err := s.List(all, number, at)
		if err != nil {
			t.Fatal(err)
		}
		l, err := pki.ParseLists(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one := made(s, 1, servicesNow, "1f")
	if err := pki.VerifyLists(one, []*x509.Certificate{parent}, roots); err != nil {
		t.Error(err)
	}
	for what, issuers := range map[string][]*x509.Certificate{"nobody": nil, "a stranger": {strangers},
		"another authority": {foreign.Certificate()}} {
		if pki.VerifyLists(one, issuers, roots) == nil {
			t.Errorf("a list by %s is believed", what)
		}
	}
	if pki.VerifyLists(made(stranger, 1, servicesNow), []*x509.Certificate{strangers, parent}, roots) == nil {
		t.Error("a list of another fleet is believed")
	}
	for what, roots := range map[string][]*x509.Certificate{"no fleet CA": nil,
		"what makes certificates of services": {parent}} {
		if pki.VerifyLists(nil, nil, roots) == nil {
			t.Errorf("lists are believed because of %s", what)
		}
	}
	now := servicesNow.Add(time.Hour)
	two := made(s, 2, now, "1f", "2f")
	for what, l := range map[string]pki.Lists{"later": one.Merge(two, now), "older": two.Merge(one, now),
		"forgetful": two.Merge(made(s, 3, now, "2f"), now), "again": two.Merge(two, now),
		"older, but longer": two.Merge(made(s, 1, now, "1f", "2f", "3f"), now)} {
		if len(l) != 1 || !l.Has("1f", "hub1") || !l.Has("2f", "") || l.Has("1f", "hub2") || l.Has("3f", "") {
			t.Errorf("%s: %v", what, l)
		}
	}
	later := servicesNow.Add(pki.ServiceLife + time.Hour)
	if l := two.Merge(made(s, 3, later, "2f"), later); len(l) != 1 || l.Has("1f", "") {
		t.Errorf("what has ended stays: %v", l)
	}
	if l := two.Merge(nil, later.Add(pki.ListLife)); len(l) != 0 {
		t.Errorf("a list that has ended stays: %v", l)
	}
	again, err := pki.ParseLists(two.Encode())
	if err != nil || !again.Has("1f", "hub1") {
		t.Errorf("%v %v", again, err)
	}
	tooMany := strings.Repeat(string(one.Encode()), 1025)
	for _, text := range []string{"x", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", tooMany} {
		if _, err := pki.ParseLists([]byte(text)); err == nil {
			t.Errorf("%.40q is read", text)
		}
	}
	if _, err := s.List([]pki.RevokedCertificate{{Serial: "x"}}, 1, now); err == nil ||
		errors.Is(err, pki.ErrNoCertificates) {
		t.Errorf("%v", err)
	}
}
