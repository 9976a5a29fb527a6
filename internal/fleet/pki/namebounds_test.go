package pki

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host/mem"
)

// TestNamesHaveBounds: the maximum length of names, and their first and last characters.
func TestNamesHaveBounds(t *testing.T) {
	a := strings.Repeat
	for name, good := range map[string]bool{"a": true, "0": true, "a-b": true, a("a", 63): true, a("a", 64): false,
		"": false, "-a": false, "a-": false, "a.b": false, "A": false} {
		if (CheckFleet(name) == nil) != good {
			t.Errorf("fleet %q", name)
		}
	}
	for name, good := range map[string]bool{"a": true, "A.b_c@d+e-f": true, a("a", 60): true, a("a", 61): false,
		"": false, ".a": false, "a@": false, "a b": false} {
		if (CheckUser(name) == nil) != good {
			t.Errorf("user %q", name)
		}
	}
	label := a("a", 63)
	long := label + "." + label + "." + label + "." + a("a", 61)
	for name, good := range map[string]bool{"a": true, label: true, label + "a": false, "a..b": false, "A.b": true,
		long: true, long + "a": false, "": false} {
		if hostName(name) != good {
			t.Errorf("host %q of %d bytes", name, len(name))
		}
	}
	fleetName, id := a("f", 63), a("h", 63)
	for text, good := range map[string]bool{
		"fettle://" + fleetName + "/services/" + id: true, "fettle://f/hub/h": true, "fettle://f/king/h": false,
		"fettle://f/hub": false, "fettle://f/hub/h/x": false,
		"https://f/hub/h": false, "fettle://F/hub/h": false, "fettle://f/hub/H": false,
		"fettle://f/person/ada@example.org": true, "fettle://f/target/x": false,
	} {
		n, err := ParseName(text)
		if (err == nil) != good || good && n.String() != text {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
}

// TestListsHaveBounds: there are at most 64 lists, and an entry stays until the certificate must
// have expired.
func TestListsHaveBounds(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	f := RevokedCertificate{Serial: "1", At: at.Unix()}
	for after, ended := range map[time.Duration]bool{0: false, ServiceLife: false, ServiceLife + Backdate - 1: false,
		ServiceLife + Backdate: true} {
		if f.Ended(at.Add(after)) != ended {
			t.Errorf("after %s: ended %t", after, !ended)
		}
	}
	a, err := NewCA(mem.NewFS(mem.Options{}), "/a", "acme", at)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.List([]RevokedCertificate{f}, 7, at)
	if err != nil {
		t.Fatal(err)
	}
	for n, good := range map[int]bool{1: true, maxLists: true, maxLists + 1: false} {
		l, err := ParseLists(bytes.Repeat(text, n))
		if (err == nil) != good || good && len(l) != n {
			t.Errorf("%d lists: %d, %v", n, len(l), err)
		}
	}
	l, err := ParseLists(text)
	if err != nil || l[0].Number.Int64() != 7 || !l[0].ThisUpdate.Equal(at.Add(-Backdate)) ||
		!l[0].NextUpdate.Equal(at.Add(AuthorityListLife)) || !l.Has("1", "") || l.Has("1", "hub") {
		t.Errorf("%+v, %v", l, err)
	}
	if err := VerifyLists(l, nil, nil); err == nil || !strings.Contains(err.Error(), "without a fleet CA") {
		t.Errorf("%v", err)
	}
	if _, err := a.List([]RevokedCertificate{{Serial: "xyz"}}, 1, at); err == nil ||
		!strings.Contains(err.Error(), "it must be a number in hex") {
		t.Errorf("%v", err)
	}
	a.cert.KeyUsage = x509.KeyUsageCertSign
	if _, err := a.List(nil, 1, at); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an older fleet CA signs a list: %v", err)
	}
}

// TestClaimsHaveBounds: the format, the names, and the limit of 16 KiB.
func TestClaimsHaveBounds(t *testing.T) {
	labels := map[string]string{}
	for i := range 64 {
		labels[fmt.Sprintf("%s%02d", strings.Repeat("k", 61), i)] = strings.Repeat("v", 63)
	}
	for name, c := range map[string]struct {
		claims Claims
		good   bool
	}{
		"name":            {Claims{Name: "web1"}, true},
		"all":             {Claims{Name: "web1", Fleet: "prod", Labels: labels}, true},
		"no name":         {Claims{}, false},
		"a bad fleet":     {Claims{Name: "web1", Fleet: "Prod"}, false},
		"a bad label":     {Claims{Name: "web1", Labels: map[string]string{"": ""}}, false},
		"too many labels": {Claims{Name: "web1", Labels: merge(labels, "one", "more")}, false},
	} {
		e, err := c.claims.extension()
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err := parseClaims(e.Value); c.good &&
			(err != nil || again.Name != c.claims.Name || again.Fleet != c.claims.Fleet ||
				!maps.Equal(again.Labels, c.claims.Labels)) {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	text := `{"format":"fettle.claims/1","name":"web1"}`
	for size, good := range map[int]bool{len(text): true, maxClaims: true, maxClaims + 1: false} {
		if _, err := parseClaims([]byte(text + strings.Repeat(" ", size-len(text)))); (err == nil) != good {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for _, bad := range []string{text + "{}", text + " 1", `{"format":"fettle.claims/2","name":"web1"}`,
		`{"format":"fettle.claims/1","name":"web1","fleet":"Prod"}`, `{"format":"fettle.claims/1","name":"web1","x":1}`} {
		if _, err := parseClaims([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
	if _, err := ClaimsOf(&x509.Certificate{}); err == nil {
		t.Error("a certificate without claims has some")
	}
}

func merge(m map[string]string, key, value string) map[string]string {
	out := maps.Clone(m)
	out[key] = value
	return out
}
