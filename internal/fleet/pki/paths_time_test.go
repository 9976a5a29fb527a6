package pki

import (
	"crypto/x509"
	"testing"
	"time"
)

// TestRightPaths: the length of the path of each kind, and its certificates.
func TestRightPaths(t *testing.T) {
	named := func(kind Kind, ca bool) *x509.Certificate {
		return &x509.Certificate{IsCA: ca, URIs: Name{"acme", kind, "h"}.uri()}
	}
	root := &x509.Certificate{IsCA: true}
	for _, kind := range []Kind{HubKind, SignerKind, IssuerKind, ServicesKind, TargetKind, UserKind} {
		for _, ca := range []bool{true, false} {
			for _, above := range []Kind{"", IssuerKind, ServicesKind} {
				path := []*x509.Certificate{named(kind, ca), root}
				if above != "" {
					path = []*x509.Certificate{named(kind, ca), named(above, true), root}
				}
				want := above == "" && ca == (kind == IssuerKind || kind == ServicesKind)
				if kind == TargetKind || kind == UserKind {
					want = above == IssuerKind && !ca
				}
				if got := rightPath(path, kind); got != want {
					t.Errorf("%s, CA %t, by %q: %t", kind, ca, above, got)
				}
			}
		}
	}
	if rightPath([]*x509.Certificate{named(TargetKind, false), {}, root}, TargetKind) {
		t.Error("an issuer without a name counts")
	}
	if rightPath([]*x509.Certificate{named(TargetKind, false), named(IssuerKind, true), root, root}, TargetKind) {
		t.Error("a longer path counts")
	}
}

// TestTimeOfAPath: a path is valid while each of its certificates is.
func TestTimeOfAPath(t *testing.T) {
	r, a := newRegistrar(t)
	trust, err := r.Hub.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := r.Hub.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := issuer.User(key.Public(), "ada", time.Hour, rulesNow)
	if err != nil {
		t.Fatal(err)
	}
	w, err := trust.way([]*x509.Certificate{leaf, issuer.cert}, UserKind, rulesNow)
	if err != nil || !w.from.Equal(leaf.NotBefore) || !w.until.Equal(leaf.NotAfter) || len(w.steps) != 2 ||
		w.steps[0].name.Kind != UserKind || w.steps[1].name.Kind != IssuerKind {
		t.Errorf("%+v, %v", w, err)
	}
	later := *issuer.cert
	later.NotBefore, later.NotAfter = rulesNow.Add(time.Minute), rulesNow.Add(2*time.Minute)
	trust.Paths = &Paths{}
	at := rulesNow.Add(90 * time.Second)
	if _, err := trust.Paths.issuer(issuer.cert, at,
		func() ([]*x509.Certificate, error) { return []*x509.Certificate{&later, a.cert}, nil }); err != nil {
		t.Fatal(err)
	}
	if w, err = trust.way([]*x509.Certificate{leaf, issuer.cert}, UserKind, at); err != nil ||
		!w.from.Equal(later.NotBefore) || !w.until.Equal(later.NotAfter) {
		t.Errorf("%+v, %v", w, err)
	}
	for what, c := range map[string]struct {
		kind  Kind
		paths *Paths
	}{"no memory": {UserKind, nil}, "a hub": {HubKind, &Paths{}}} {
		trust.Paths = c.paths
		if trust.known([]*x509.Certificate{leaf, issuer.cert}, c.kind, rulesNow) != nil {
			t.Errorf("%s: known", what)
		}
	}
	// The issuer may follow other certificates, among the first eight.
	trust.Paths = &Paths{}
	for n, known := range map[int]bool{0: true, 1: true, 6: true, 7: false} {
		chain := []*x509.Certificate{leaf}
		for range n {
			chain = append(chain, leaf)
		}
		if got := trust.known(append(chain, issuer.cert), UserKind, rulesNow); (len(got) == 3) != known {
			t.Errorf("behind %d others: %d", n, len(got))
		}
	}
}
