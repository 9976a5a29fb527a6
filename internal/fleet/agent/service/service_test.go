package service_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/service"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
)

// world simulates a host, and a hub with configurable answers.
type world struct {
	*service.Keeper
	t         *testing.T
	root      string
	now       time.Time
	authority *pki.CA
	services  *pki.Services
	answer    func(fleet.Request) (fleet.RequestAnswer, error)
	asked     int
	reloaded  []string
	broken    error // error of a reload
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir(), now: time.Now().Truncate(time.Second)}
	files, err := local.Open(w.root, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	keys := mem.New(mem.Options{})
	if w.authority, err = pki.NewCA(keys, "/authority", "acme", w.now); err != nil {
		t.Fatal(err)
	}
	if w.services, err = pki.OpenServices(keys, "/keys"); err != nil {
		t.Fatal(err)
	}
	request, _ := w.services.Request()
	certificates, err := w.authority.CertifyServices(request, "hub1", []string{"hub.example.org"}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.services.Install(certificates); err != nil {
		t.Fatal(err)
	}
	w.answer = w.issue
	w.Keeper = &service.Keeper{
		Files: files, Dir: service.Dir, State: mem.New(mem.Options{}), Wants: "/agent/certificates",
		Request:     func(_ context.Context, a fleet.Request) (fleet.RequestAnswer, error) { w.asked++; return w.answer(a) },
		Authorities: func() []*x509.Certificate { return []*x509.Certificate{w.authority.Certificate()} },
		Reload:      func(_ context.Context, unit string) error { w.reloaded = append(w.reloaded, unit); return w.broken },
		Now:         func() time.Time { return w.now }, Warn: func(string) {},
	}
	return w
}

func (w *world) issue(a fleet.Request) (fleet.RequestAnswer, error) {
	key, err := pki.ParseRequest([]byte(a.Signing))
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	c, err := w.services.Issue(key, a.Names, w.now)
	if err != nil {
		return fleet.RequestAnswer{}, err
	}
	parent, _ := w.services.Certificate()
	return fleet.RequestAnswer{Answer: fleet.RequestDone, Certificate: string(pki.EncodeCertificates(c, parent))}, nil
}

func (w *world) wish() service.Order {
	w.t.Helper()
	all, err := w.Orders()
	if err != nil || len(all) != 1 {
		w.t.Fatal(all, err)
	}
	return all[0]
}

// look calls service.Look once.
func (w *world) look(poked bool) { service.Look(w.t.Context(), w.Keeper, poked) }

// The directory has a key that only root can read, and a chain that a client with only the
// certificate of the fleet CA accepts.
func TestGet(t *testing.T) {
	w := newWorld(t)
	names := []string{"127.0.0.1", "web3.example.org"}
	if err := w.Want(service.Order{Name: names[1], Names: names, Reload: "nginx.service"}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Get(t.Context(), names[1])
	if err != nil || got.Serial == "" || got.Until-w.now.Unix() != int64(pki.ServiceLife/time.Second) ||
		len(w.reloaded) != 0 {
		t.Fatalf("%+v %v, reloaded %v", got, err, w.reloaded)
	}
	dir := filepath.Join(w.root, service.Dir)
	for name, mode := range map[string]os.FileMode{"key.pem": 0o600, "certificate.pem": 0o644, "chain.pem": 0o644,
		"fullchain.pem": 0o644} {
		if st, err := os.Stat(filepath.Join(dir, names[1], name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
	serves(t, dir, names[1])
}

// serves makes a TLS connection with the files of the directory.
func serves(t *testing.T, dir, name string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name, "fullchain.pem"), filepath.Join(dir, name, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "authority.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	a, b := net.Pipe()
	defer a.Close()
	go func() { _ = tls.Server(b, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake() }()
	if err := tls.Client(a, &tls.Config{RootCAs: roots, ServerName: name}).Handshake(); err != nil {
		t.Error(err)
	}
}

// A pending certificate is installed after the approval. After two thirds of its validity it is
// renewed with a new key, and the service is reloaded. A failed reload is repeated.
func TestHeldThenRenewed(t *testing.T) {
	w := newWorld(t)
	name := "web3.example.org"
	w.answer = func(fleet.Request) (fleet.RequestAnswer, error) {
		return fleet.RequestAnswer{Answer: fleet.RequestPending}, nil
	}
	if err := w.Want(service.Order{Name: name, Names: []string{name}, Reload: "nginx.service"}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Get(t.Context(), name); err != nil || !got.Pending || got.Serial != "" {
		t.Fatalf("%+v %v", got, err)
	}
	w.look(false)
	if w.asked != 1 {
		t.Errorf("it asks %d times for what is held", w.asked)
	}
	w.answer = w.issue
	w.look(true)
	first := w.wish()
	if first.Serial == "" || first.Pending {
		t.Fatalf("%+v", first)
	}
	dir := filepath.Join(w.root, service.Dir)
	old, _ := os.ReadFile(filepath.Join(dir, name, "key.pem"))
	w.now = w.now.Add(pki.ServiceLife*2/3 - time.Hour)
	w.look(false)
	if w.asked != 2 {
		t.Errorf("it is renewed too early")
	}
	w.now = w.now.Add(2 * time.Hour)
	w.broken = errors.New("no systemd")
	w.look(false)
	second := w.wish()
	if second.Serial == first.Serial || !second.Owed {
		t.Errorf("%+v", second)
	}
	w.broken = nil
	w.look(false)
	if third := w.wish(); third.Owed || third.Serial != second.Serial ||
		!slices.Equal(w.reloaded, []string{"nginx.service", "nginx.service"}) {
		t.Errorf("%+v %v", third, w.reloaded)
	}
	fresh, _ := os.ReadFile(filepath.Join(dir, name, "key.pem"))
	entries, _ := os.ReadDir(dir)
	if string(fresh) == string(old) || len(entries) != 3 {
		t.Errorf("%v, the key is the same: %v", entries, string(fresh) == string(old))
	}
	// A refusal changes nothing.
	w.answer = func(fleet.Request) (fleet.RequestAnswer, error) {
		return fleet.RequestAnswer{}, fmt.Errorf("%w: no", fleet.ErrDenied)
	}
	w.now = w.now.Add(pki.ServiceLife * 2 / 3)
	w.look(false)
	if last := w.wish(); last.Serial != second.Serial || last.Error == "" {
		t.Errorf("%+v", last)
	}
	if err := w.Forget(name); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// A certificate that begins later does not replace a valid one, but it replaces one that has expired.
func TestCertificateThatBeginsLater(t *testing.T) {
	w := newWorld(t)
	name := "web3.example.org"
	if err := w.Want(service.Order{Name: name, Names: []string{name}}); err != nil {
		t.Fatal(err)
	}
	first, err := w.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	w.answer = func(r fleet.Request) (fleet.RequestAnswer, error) {
		w.now = w.now.Add(24 * time.Hour)
		defer func() { w.now = w.now.Add(-24 * time.Hour) }()
		return w.issue(r)
	}
	if got, err := w.Get(t.Context(), name); err == nil || got.Serial != first.Serial || got.Error == "" {
		t.Errorf("%+v, %v", got, err)
	}
	w.now = time.Unix(first.Until, 0).Add(time.Second)
	if got, err := w.Get(t.Context(), name); err != nil || got.Serial == first.Serial {
		t.Errorf("after the end of the first certificate: %+v, %v", got, err)
	}
}

// All services can read the revocation lists. A hub that sends wrong or incomplete lists changes
// nothing. Revoked certificates of this host are marked.
func TestUpdate(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	name := "web3.example.org"
	if err := w.Want(service.Order{Name: name, Names: []string{name}}); err != nil {
		t.Fatal(err)
	}
	own, err := w.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	number := int64(0)
	says := func(by *world, serials ...string) {
		t.Helper()
		number++
		var all []pki.RevokedCertificate
		for _, s := range serials {
			all = append(all, pki.RevokedCertificate{Serial: s, At: w.now.Unix()})
		}
		text, err := by.services.List(all, number, w.now)
		if err != nil {
			t.Fatal(err)
		}
		parent, _ := by.services.Certificate()
		w.Lists = func(context.Context) (fleet.Lists, error) {
			return fleet.Lists{Lists: string(text), Issuers: string(pki.EncodeCertificates(parent))}, nil
		}
	}
	says(w)
	if err := w.FetchRevocations(t.Context(), "hub1/1f"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("what is not in the list yet: %v", err)
	}
	says(w, "1f", own.Serial)
	if err := w.FetchRevocations(t.Context(), "hub1/1f hub1/"+own.Serial); err != nil {
		t.Error(err)
	}
	if !w.wish().Revoked {
		t.Error("the machine does not know that its own is forbidden")
	}
	file := filepath.Join(w.root, service.Dir, "crl.pem")
	want, err := os.ReadFile(file)
	if st, _ := os.Stat(file); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", st, err)
	}
	says(other, "2f")
	if _, err := w.Update(t.Context()); err == nil {
		t.Error("a list of another fleet is taken")
	}
	says(w, "1f") // one entry is missing
	if _, err := w.Update(t.Context()); err != nil {
		t.Error(err)
	}
	w.Lists = func(context.Context) (fleet.Lists, error) { return fleet.Lists{Lists: "x"}, nil }
	if _, err := w.Update(t.Context()); err == nil {
		t.Error("rubbish is taken")
	}
	if got, _ := os.ReadFile(file); string(got) != string(want) {
		t.Errorf("the list is another one")
	}
	fresh, err := w.Get(t.Context(), name)
	if err != nil || fresh.Revoked {
		t.Errorf("a new one: %+v %v", fresh, err)
	}

	// If the issuing hub is revoked, a different hub issues a new certificate before services read
	// the new lists.
	parent, _ := w.services.Certificate()
	text, err := w.authority.List([]pki.RevokedCertificate{{Serial: pki.SerialOf(parent), At: w.now.Unix()}}, 1, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.Lists = func(context.Context) (fleet.Lists, error) { return fleet.Lists{Lists: string(text)}, nil }
	l, err := w.Update(t.Context())
	if err != nil || !l.Has(pki.SerialOf(parent), "") || w.wish().Serial == fresh.Serial {
		t.Errorf("%v %v %+v", l, err, w.wish())
	}
}

// If a hub sends a wrong certificate, the host keeps its certificate.
func TestLiesOfAHub(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	name := "web3.example.org"
	stranger, _ := pki.NewServiceKey()
	theirs, _ := stranger.Request()
	for what, answer := range map[string]func(fleet.Request) (fleet.RequestAnswer, error){
		"another key": func(a fleet.Request) (fleet.RequestAnswer, error) { a.Signing = string(theirs); return w.issue(a) },
		"other names": func(a fleet.Request) (fleet.RequestAnswer, error) {
			a.Names = []string{"x.example.org"}
			return w.issue(a)
		},
		"another authority": other.issue,
		"nothing": func(fleet.Request) (fleet.RequestAnswer, error) {
			return fleet.RequestAnswer{Answer: fleet.RequestDone}, nil
		},
		"rubbish": func(fleet.Request) (fleet.RequestAnswer, error) {
			return fleet.RequestAnswer{Answer: fleet.RequestDone, Certificate: strings.Repeat("x", 1<<16)}, nil
		},
	} {
		w.answer = answer
		if err := w.Want(service.Order{Name: name, Names: []string{name}}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Get(t.Context(), name); err == nil || got.Serial != "" {
			t.Errorf("%s is taken: %+v", what, got)
		}
	}
	if _, err := os.Stat(filepath.Join(w.root, service.Dir, name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is something: %v", err)
	}
}

// Names of directories and units cannot leave the directory.
func TestWishes(t *testing.T) {
	good := service.Order{Name: "a.example.org", Names: []string{"a.example.org"}}
	for what, w := range map[string]service.Order{
		"no name": {}, "another name": {Name: "b", Names: good.Names}, "a path": {Name: "../x", Names: []string{"../x"}},
		"an option": {Name: good.Name, Names: good.Names, Reload: "--root=/x"},
		"a shell":   {Name: good.Name, Names: good.Names, Reload: "a;b"},
	} {
		if w.Check() == nil {
			t.Errorf("%s is taken", what)
		}
	}
	now := time.Now()
	has := service.Order{Serial: "1", From: now.Unix(), Until: now.Add(30 * time.Hour).Unix()}
	for hours, due := range map[time.Duration]bool{0: false, 19: false, 21: true, 40: true, -1: true} {
		if got := has.Due(now.Add(hours * time.Hour)); got != due {
			t.Errorf("after %d hours: %v", hours, got)
		}
	}
	has.RequestedAt, has.Wait = now.Add(21*time.Hour).Unix(), 600
	if has.Due(now.Add(21 * time.Hour)) {
		t.Error("it asks again at once")
	}
	if !has.Due(now.Add(-time.Hour)) {
		t.Error("a clock that was set back asks never")
	}
}
