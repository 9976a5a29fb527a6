package bustest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fettle.dev/fettle/internal/fleet/bus"
)

// Others is a NATS cluster that others run, simulated in this process by real servers with their
// own ports and directories. It has four accounts: FLEET, with the users fettle and, without the
// right to publish, mute; PLAIN, without JetStream, with the user plain; SMALL, with at most three
// streams, with the user small; and FULL, with 200 MB of storage, with the user full. All users
// have the password Password.
type Others struct {
	t     testing.TB
	texts []string // their configurations
	urls  []string

	mu      sync.Mutex
	servers []*server.Server // nil for a stopped server
}

// Password is the password of all users of Others.
const Password = "secret"

// NewOthers starts n servers, which end with the test. address returns an unused address.
func NewOthers(t testing.TB, n int, address func(testing.TB) string) *Others {
	t.Helper()
	o := &Others{t: t, servers: make([]*server.Server, n)}
	var clients, routes []string
	for range n {
		clients, routes = append(clients, address(t)), append(routes, address(t))
	}
	for i := range n {
		cluster := ""
		if n > 1 {
			cluster = fmt.Sprintf("cluster { name: others, listen: %q, routes: [ \"nats://%s\" ] }\n", routes[i],
				strings.Join(routes, `", "nats://`))
		}
		text := fmt.Sprintf("server_name: others%d\nlisten: %q\nmax_payload: 4MB\njetstream { store_dir: %q, max_memory_store: 64MB, max_file_store: 64GB }\n%s%s", i, clients[i], t.TempDir(), cluster, othersAccounts)
		o.texts, o.urls = append(o.texts, text), append(o.urls, "nats://"+clients[i])
	}
	for i := range n {
		o.Start(i)
	}
	t.Cleanup(func() {
		for i := range n {
			o.Stop(i)
		}
	})
	return o
}

const othersAccounts = `
accounts {
  SYS { users: [ { user: system, password: secret } ] }
  FLEET { jetstream: enabled, users: [ { user: fettle, password: secret }, { user: mute, password: secret, permissions: { publish: "nothing" } } ] }
  PLAIN { users: [ { user: plain, password: secret } ] }
  SMALL { jetstream: { max_streams: 3, max_file: 1GB }, users: [ { user: small, password: secret } ] }
  FULL { jetstream: { max_file: 200MB }, users: [ { user: full, password: secret } ] }
}
system_account: SYS
`

// Start starts a server, even after Stop.
func (o *Others) Start(i int) {
	o.t.Helper()
	opts := &server.Options{}
	if err := opts.ProcessConfigString(o.texts[i]); err != nil {
		o.t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		o.t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		o.t.Fatal("a NATS server does not start")
	}
	o.mu.Lock()
	o.servers[i] = s
	o.mu.Unlock()
}

// Stop kills a server. A stopped server may be stopped again.
func (o *Others) Stop(i int) {
	o.mu.Lock()
	s := o.servers[i]
	o.servers[i] = nil
	o.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// StopAll stops all servers.
func (o *Others) StopAll() {
	for i := range o.servers {
		o.Stop(i)
	}
}

// StartAll starts all servers.
func (o *Others) StartAll() {
	for i := range o.servers {
		o.Start(i)
	}
}

// URLs returns the addresses for clients.
func (o *Others) URLs() []string { return o.urls }

// ExternalNats returns the configuration for the hubs of a fleet.
func (o *Others) ExternalNats(prefix string) *bus.ExternalNats {
	return &bus.ExternalNats{URLs: o.urls, Login: []byte("fettle:" + Password), Prefix: prefix,
		Key: []byte("0123456789abcdef0123456789abcdef"), Replicas: min(len(o.urls), 3)}
}
