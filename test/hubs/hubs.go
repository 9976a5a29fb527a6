// Package hubs runs a hub in the process of a test: the code of the binary, with its bus and API on
// loopback addresses, and a git repository. Only the hosts are simulated: a test decides what an
// agent reports.
//
//	fleet, err := hubs.StartFleet(ctx, t.TempDir()) // web1 is ready, web2 has failed, db1 is pending
//	defer fleet.Close()
//	token, err := fleet.Token(ctx, "jane", "admin")
//
// The time of the hub and of its agents is Now, and changes only with SetTime.
package hubs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/web"
)

// Now returns the first time of every hub.
func Now() time.Time { return time.Date(2026, 11, 21, 4, 21, 57, 0, time.UTC) }

// Hub is a running hub. Its methods are not safe for concurrent use, except Time.
type Hub struct {
	URL string
	// Authority is the digest of the fleet CA, as in client.Login.
	Authority string
	// Root sends requests through the socket of the hub, as root.
	Root *client.Client

	dir   string // contains the hub, its repository and its agents
	site  site
	files *local.Host
	// provider is nil for a hub without one.
	provider *Provider
	clock    atomic.Int64
	onClose  []func() // called before the hub stops
	stop     context.CancelFunc
	ended    chan error

	mu       sync.Mutex
	warnings []string
}

type compiler struct{}

func (compiler) Targets(t repo.Tree) ([]query.Target, diag.List) { return compile.Targets(t) }
func (compiler) Locks(t repo.Tree) ([]source.Lock, diag.List)    { return compile.Locks(t) }
func (compiler) States(t repo.Tree) ([]query.DeclaredState, diag.List) {
	return compile.Open(t).States()
}

func (compiler) Scopes(t repo.Tree) (query.Scopes, diag.List) { return compile.Scopes(t) }

func (compiler) Waits(t repo.Tree) (query.Coordination, diag.List) { return compile.Waits(t) }

func (compiler) Strategies(t repo.Tree) ([]query.Strategy, diag.List) { return compile.Strategies(t) }

// Start starts a hub with an empty fleet, created an hour before Now. Everything is stored
// in dir, which must exist.
func Start(dir string) (*Hub, error) { return StartWith(dir, nil) }

// Provider is an OIDC provider of a hub. Users with the element sre in the claim groups operate the fleet.
type Provider struct {
	Issuer, Client, Secret string
	CA                     []byte // certificates, PEM
}

// StartWith is Start for a hub with an OIDC provider; nil means none.
func StartWith(dir string, p *Provider) (*Hub, error) {
	files, err := local.Open("/", local.Options{})
	if err != nil {
		return nil, err
	}
	h := &Hub{dir: dir, files: files, provider: p}
	h.site = site{dir: filepath.Join(dir, "site"), now: h.Time}
	h.SetTime(Now().Add(-time.Hour))
	for _, step := range []func() error{h.site.create, h.create, h.run} {
		if err := step(); err != nil {
			return nil, errors.Join(err, files.Close())
		}
	}
	h.SetTime(Now())
	return h, nil
}

// create creates the directory of the hub, with free ports.
func (h *Hub) create() error {
	api, bus := freePort(), freePort()
	h.URL = "https://" + api
	set := hub.Settings{Fleet: "acme", Name: "hub1", API: api, Bus: bus,
		HubURLs: []string{h.URL}, BusURLs: []string{"tls://" + bus},
		Repository: hub.Repository{Name: "site", URL: "file://" + h.site.dir, Branch: "main"}}
	if p := h.provider; p != nil {
		set.OIDC = &hub.OIDC{Issuer: p.Issuer, Client: p.Client,
			Rules: []hub.OIDCRule{{Claim: "groups", Value: "sre", Role: "operate"}}}
	}
	digest, err := hub.Init(hub.InitOptions{Files: h.files, Dir: h.hubDir(), Hosts: []string{"127.0.0.1"},
		Now: h.Time().Add(-24 * time.Hour), Settings: set})
	h.Authority = "sha256:" + hex.EncodeToString(digest[:])
	notify := filepath.Join(h.hubDir(), "notify") // of rules for notices
	return errors.Join(err, os.Mkdir(notify, 0o700),
		os.WriteFile(filepath.Join(notify, "hook-key"), []byte("key\n"), 0o600), h.trustProvider())
}

// trustProvider writes the files about the OIDC provider.
func (h *Hub) trustProvider() error {
	if h.provider == nil {
		return nil
	}
	return errors.Join(os.WriteFile(filepath.Join(h.hubDir(), "oidc-secret"), []byte(h.provider.Secret+"\n"), 0o600),
		os.WriteFile(filepath.Join(h.hubDir(), "oidc-ca.pem"), h.provider.CA, 0o600))
}

// run starts the hub, and waits until it serves.
func (h *Hub) run() (err error) {
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	h.stop, h.ended = stop, make(chan error, 1)
	go func() {
		h.ended <- hub.Run(ctx, hub.Config{Files: h.files, Dir: h.hubDir(), Compile: compiler{}, Now: h.Time, Warn: h.warn,
			Comparer: comparer, Socket: h.socket(),
			Listen:  func(s string) (net.Listener, error) { return net.Listen("unix", s) },
			Ready:   func(net.Addr, net.Addr) { close(ready) },
			Pages:   func(p hub.Pages) http.Handler { return web.ForHub(web.HubConfig(p)) },
			Version: "test"})
	}()
	select {
	case <-ready:
	case err := <-h.ended:
		stop()
		return fmt.Errorf("cannot start the hub: %w", err)
	}
	if h.Root, err = client.New(client.Login{Hub: "unix://" + h.socket()}); err != nil {
		return err
	}
	_, err = Await(ctx, "the hub leads",
		func() (document.Health, error) { return client.Get(ctx, h.Root, route.Health()) },
		func(is document.Health) bool { return is.Leads })
	return err
}

func (h *Hub) hubDir() string { return filepath.Join(h.dir, "hub1") }
func (h *Hub) socket() string { return filepath.Join(h.dir, "root.sock") }

// Close stops the agents and the hub.
func (h *Hub) Close() error {
	for _, do := range h.onClose {
		do()
	}
	h.stop()
	return errors.Join(<-h.ended, h.files.Close())
}

// Time returns the time of the hub and of its agents.
func (h *Hub) Time() time.Time { return time.Unix(0, h.clock.Load()).UTC() }

// SetTime changes the time.
func (h *Hub) SetTime(to time.Time) { h.clock.Store(to.UnixNano()) }

func (h *Hub) warn(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, text)
}

// Warnings returns the warnings of the hub so far.
func (h *Hub) Warnings() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.warnings...)
}

// Token returns a login token of a user, who gets the role.
func (h *Hub) Token(ctx context.Context, user, role string) (string, error) {
	return h.token(ctx, document.UserRequest{Name: user, Roles: []string{role}})
}

// token creates or changes a user, and returns a login token of the user.
func (h *Hub) token(ctx context.Context, user document.UserRequest) (string, error) {
	if _, err := client.Post(ctx, h.Root, route.SetUser(), user); err != nil {
		return "", err
	}
	l, err := client.Call(ctx, h.Root, route.CreateLogin(), route.UserName{User: user.Name}, document.LoginRequest{})
	return l.Secret, err
}

// Client returns a client of a user, who gets the role.
func (h *Hub) Client(ctx context.Context, user, role string) (*client.Client, error) {
	return h.client(ctx, document.UserRequest{Name: user, Roles: []string{role}})
}

// Member returns a client of a user of an organization, who gets the role.
func (h *Hub) Member(ctx context.Context, user, role, organization string) (*client.Client, error) {
	return h.client(ctx, document.UserRequest{Name: user, Roles: []string{role}, Organization: &organization})
}

func (h *Hub) client(ctx context.Context, user document.UserRequest) (*client.Client, error) {
	token, err := h.token(ctx, user)
	if err != nil {
		return nil, err
	}
	return client.NewAt(client.Login{Hub: h.URL, Token: token, Authority: h.Authority}, h.Time)
}
