package contents_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/contents"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/repository"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// commit is the commit of all assignments.
const commit = "0123456789012345678901234567890123456789"

// errSuspect is the error of the registry for a target that is not trusted.
var errSuspect = errors.New("the target is marked as suspect")

// world is a hub of the fleet acme. Its members are hub1 and hub2.
type world struct {
	*contents.Contents
	t       *testing.T
	now     time.Time
	root    *pki.CA
	keys    *pki.Hub
	sources *sources
	suspect fleet.TargetID // not trusted; "" means none
	alone   bool
	noTrust error // of Trust

	mu     sync.Mutex
	warned []string
}

// newFleet returns the first hub of a fleet.
func newFleet(t *testing.T, now time.Time) *world {
	t.Helper()
	root, err := pki.NewCA(mem.New(mem.Options{}), "/ca", "acme", now)
	if err != nil {
		t.Fatal(err)
	}
	return newHub(t, root, "hub1", now)
}

func newHub(t *testing.T, root *pki.CA, name string, now time.Time) *world {
	t.Helper()
	keys, err := pki.OpenHub(mem.New(mem.Options{}), "/keys")
	if err != nil {
		t.Fatal(err)
	}
	request, err := keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := root.Certify(request, name, []string{"127.0.0.1"}, now)
	if err == nil {
		err = keys.Install(certificates)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: now, root: root, keys: keys, alone: true}
	w.sources = &sources{world: w, commits: map[string][]string{}}
	w.open(name)
	return w
}

// open creates the contents of the hub, with empty mirrors.
func (w *world) open(name string) {
	w.t.Helper()
	store, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	table := &records.Table{
		Delivered:    records.Delivered{Assignments: records.NewMirror[records.Assignment](bustest.NewStore(), "", nil)},
		Binaries:     records.NewMirror[assign.BinarySetting](bustest.NewStore(), "", nil),
		Hubs:         records.Hubs{Members: records.NewMirror[records.Member](bustest.NewStore(), "", nil)},
		Repositories: records.NewMirror[records.Repository](bustest.NewStore(), "", nil),
	}
	now := func() time.Time { return w.now }
	w.Contents = contents.New(contents.Config{Hub: name, Now: now, Warn: w.warn, Store: store, Records: table,
		Trust: func() (pki.Trust, error) {
			trust, err := w.keys.Trust(nil)
			return trust, errors.Join(err, w.noTrust)
		},
		TLS: w.keys.TLS, Trusted: w.trusted, Alone: func() bool { return w.alone },
		IsMember: func(name string) bool { return name == "hub1" || name == "hub2" },
		Repository: repository.New(repository.Config{Dir: "/mirror", Now: now, Warn: w.warn, Records: table,
			Sources: func(*content.Sources) repository.Sources { return w.sources }}),
		History: func(_ context.Context, _ string, _ content.Source, of string, _ []string) ([]byte, error) {
			return []byte("history of " + of), nil
		}})
}

func (w *world) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warned = append(w.warned, text)
}

func (w *world) warnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.warned)
}

func (w *world) trusted(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
	if id == w.suspect {
		return fleet.Target{}, errSuspect
	}
	return fleet.Target{ID: id}, nil
}

// leads makes this hub the leader: it has a clone of the repository until the test ends.
func (w *world) leads(ctx context.Context) {
	go func() { _ = w.Repository.Follow(ctx, func() {}) }()
}

// bundle returns the name of a content.
func (w *world) bundle(text string) fleet.Bundle {
	w.t.Helper()
	store, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return add(w.t, store, text)
}

func add(t *testing.T, s *content.Store, text string) fleet.Bundle {
	t.Helper()
	b, err := s.Add(func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// assigns stores the assignment of a target. All its parts are of one commit.
func (w *world) assigns(id fleet.TargetID, root fleet.Bundle, binary *fleet.Binary, modules ...fleet.Assigned) {
	w.t.Helper()
	for i := range modules {
		modules[i].Revision.Commit = commit
	}
	a := fleet.Assignment{Target: id, Root: fleet.Assigned{Bundle: root, Revision: fleet.Revision{Commit: commit}},
		Modules: modules, Binary: binary}
	_, rev, _ := w.Records.Assignments.Get(string(id))
	if err := w.Records.Assignments.Put(w.t.Context(), string(id), records.Assignment{Assignment: a}, rev); err != nil {
		w.t.Fatal(err)
	}
}

// target returns the TLS connection of a target.
func (w *world) target(id fleet.TargetID) *tls.ConnectionState {
	w.t.Helper()
	issuer, err := w.keys.Issuer()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.connection(func(key *ecdsa.PublicKey) (*x509.Certificate, error) {
		return issuer.Target(key, id, pki.Claims{Name: "web1"}, w.now)
	}, issuer)
}

// user returns the TLS connection of a user.
func (w *world) user(name string) *tls.ConnectionState {
	w.t.Helper()
	issuer, err := w.keys.Issuer()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.connection(func(key *ecdsa.PublicKey) (*x509.Certificate, error) {
		return issuer.User(key, name, time.Hour, w.now)
	}, issuer)
}

func (w *world) connection(issue func(*ecdsa.PublicKey) (*x509.Certificate, error),
	by *pki.Issuer) *tls.ConnectionState {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := issue(&key.PublicKey)
	if err != nil {
		w.t.Fatal(err)
	}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c, by.Certificate()}}
}

// hub returns the TLS connection of another hub of the fleet.
func (w *world) hub(name string) *tls.ConnectionState {
	w.t.Helper()
	c, err := newHub(w.t, w.root, name, w.now).keys.TLS()
	if err != nil {
		w.t.Fatal(err)
	}
	chain, err := x509.ParseCertificates(bytes.Join(c.Certificate, nil))
	if err != nil {
		w.t.Fatal(err)
	}
	return &tls.ConnectionState{PeerCertificates: chain}
}

// sources is a repository in memory: the texts of the contents of each commit.
type sources struct {
	*world

	mu      sync.Mutex
	commits map[string][]string
	down    error
	packs   int
	tidied  []string // commits that were not used
}

func (s *sources) Run(ctx context.Context)    { <-ctx.Done() }
func (s *sources) Set([]content.Source) error { return nil }
func (s *sources) Poke(string)                {}

func (s *sources) Pack(_ context.Context, rev fleet.Revision, to *content.Store) ([]fleet.Assigned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.packs++; s.down != nil {
		return nil, s.down
	}
	for _, text := range s.commits[rev.Commit] {
		add(s.t, to, text)
	}
	return nil, nil
}

func (s *sources) Tidy(_ context.Context, _ string, keep func(commit string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.commits)) {
		if !keep(id) {
			s.tidied = append(s.tidied, id)
		}
	}
	return s.down
}

// change changes the repository.
func (s *sources) change(down error, commit string, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.commits[commit] = down, texts
}

// packed returns the number of calls of Pack.
func (s *sources) packed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.packs
}

// member stores the record of a hub.
func (w *world) member(name string, urls ...string) {
	w.t.Helper()
	text, err := json.Marshal(records.Member{Name: name, HubURLs: urls})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Records.Members.Take(fleet.Entry{Key: name, Value: text, Rev: 1})
}
