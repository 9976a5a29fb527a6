package bus_test

import (
	"crypto/tls"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// apiError receives the version errors of an end; nil means a version in common.
type apiError chan *bus.VersionError

// speaking starts a hub of some versions.
func (a *authority) speaking(t *testing.T, v bus.Versions) (*bus.Server, apiError) {
	t.Helper()
	refused := make(apiError, 1000)
	srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: a.conf("hub", "hub1"),
		Identify: identify, Versions: v,
		Incompatible: func(id fleet.TargetID, e *bus.VersionError) {
			if id == bustest.ID(1) {
				refused <- e
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv, refused
}

// agentOf configures an agent of some versions. The caller must set URLs.
func (a *authority) agentOf(v bus.Versions) (bus.LinkConfig, apiError) {
	c := make(apiError, 1000)
	return bus.LinkConfig{ID: bustest.ID(1), TLS: always(a.conf("target", string(bustest.ID(1)))), Backoff: soon,
		Versions: v, Protocol: func(e *bus.VersionError) { c <- e }}, c
}

func first(t *testing.T, c apiError) *bus.VersionError {
	t.Helper()
	select {
	case e := <-c:
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("was told nothing")
		return nil
	}
}

// TestVersions: the newest version in common is used. If there is none, both ends report which side
// must be upgraded.
func TestVersions(t *testing.T) {
	a := newAuthority(t)
	for name, c := range map[string]struct {
		agent, hub bus.Versions
		upgrade    string // the side, "" for none
	}{
		"the same":       {bus.Versions{Oldest: 1, Newest: 2}, bus.Versions{Oldest: 1, Newest: 2}, ""},
		"newer agent":    {bus.Versions{Oldest: 2, Newest: 5}, bus.Versions{Oldest: 1, Newest: 3}, ""},
		"newer hub":      {bus.Versions{Oldest: 1, Newest: 2}, bus.Versions{Oldest: 2, Newest: 4}, ""},
		"version 1":      {bus.Versions{Oldest: 1, Newest: 1}, bus.Versions{Oldest: 1, Newest: 4}, ""},
		"hub version 1":  {bus.Versions{Oldest: 1, Newest: 4}, bus.Versions{Oldest: 1, Newest: 1}, ""},
		"too old agent":  {bus.Versions{Oldest: 1, Newest: 2}, bus.Versions{Oldest: 3, Newest: 4}, "agent"},
		"agent of 1":     {bus.Versions{Oldest: 1, Newest: 1}, bus.Versions{Oldest: 2, Newest: 3}, "agent"},
		"too old hub":    {bus.Versions{Oldest: 4, Newest: 5}, bus.Versions{Oldest: 2, Newest: 3}, "hub"},
		"hub of 1":       {bus.Versions{Oldest: 2, Newest: 3}, bus.Versions{Oldest: 1, Newest: 1}, "hub"},
		"two digits":     {bus.Versions{Oldest: 10, Newest: 11}, bus.Versions{Oldest: 9, Newest: 10}, ""},
		"digits compare": {bus.Versions{Oldest: 9, Newest: 9}, bus.Versions{Oldest: 10, Newest: 10}, "agent"},
	} {
		t.Run(name, func(t *testing.T) {
			srv, atHub := a.speaking(t, c.hub)
			conf, atAgent := a.agentOf(c.agent)
			conf.URLs = []string{"tls://" + srv.Address().String()}
			l, err := bus.Dial(t.Context(), conf)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			e := first(t, atAgent)
			if c.upgrade == "" {
				if e != nil {
					t.Fatal(e)
				}
				return
			}
			if e == nil || !strings.Contains(e.Error(), "Upgrade the "+c.upgrade+":") || e.Hub != c.hub && c.hub.Newest > 1 ||
				e.Agent != c.agent {
				t.Errorf("the agent is told: %v", e)
			}
			if c.hub.Newest == 1 {
				return // such a hub reports nothing: the agent leaves
			}
			if e := first(t, atHub); e == nil || !strings.Contains(e.Error(), "Upgrade the "+c.upgrade+":") ||
				e.Hub != c.hub || e.Agent.Newest != c.agent.Newest {
				t.Errorf("the hub is told: %v", e)
			}
			if srv.Connections() != 0 {
				t.Error("a refused agent is connected")
			}
		})
	}
}

// TestProgramsWithoutVersions: versions of fettle without negotiation name no version. They use
// version 1, and are accepted or refused as such.
func TestProgramsWithoutVersions(t *testing.T) {
	a := newAuthority(t)
	old, err := tls.Listen("tcp", "127.0.0.1:0", asHub(a))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	go func() {
		for {
			c, err := old.Accept()
			if err != nil {
				return
			}
			go func() { _ = (&raw{c.(*tls.Conn)}).send('H', []byte("\x01hub1")) }()
		}
	}()
	conf, atAgent := a.agentOf(bus.Versions{Oldest: 2, Newest: 3})
	conf.URLs = []string{"tls://" + old.Addr().String()}
	l, err := bus.Dial(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if e := first(t, atAgent); e == nil || !e.HubIsOlder() {
		t.Errorf("a hub without versions: %v", e)
	}
	_ = l.Close()

	srv, atHub := a.speaking(t, bus.Versions{Oldest: 2, Newest: 3})
	c, err := tls.Dial("tcp", srv.Address().String(), a.conf("target", string(bustest.ID(1))))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	kind, body, err := (&raw{c}).next()
	if oldest, n := binary.Uvarint(body); err != nil || kind != 'X' || oldest != 2 || n != 1 || body[1] != 3 {
		t.Errorf("an agent without versions gets %q %x, %v", kind, body, err)
	}
	if e := first(t, atHub); e == nil || e.HubIsOlder() || e.Agent != (bus.Versions{Oldest: 1, Newest: 1}) {
		t.Errorf("of an agent without versions the hub is told: %v", e)
	}

	// An invalid name of a version is refused.
	for _, names := range [][]string{{"h2"}, {"fettle/"}, {"fettle/02"}, {"fettle/1"}, {"fettle/-3"},
		{"fettle/99999999999999999999"}} {
		conf := a.conf("target", string(bustest.ID(1)))
		conf.NextProtos = names
		if r, err := dialRaw(srv, conf); err == nil {
			t.Errorf("%q is let in", names)
			_ = r.conn.Close()
		}
	}
}

// TestHubsOfTwoVersions: an agent that one hub refuses works with another hub.
func TestHubsOfTwoVersions(t *testing.T) {
	a := newAuthority(t)
	next, _ := a.speaking(t, bus.Versions{Oldest: 3, Newest: 4})
	own, _ := a.speaking(t, bus.Versions{Oldest: 1, Newest: 3})
	conf, atAgent := a.agentOf(bus.Versions{Oldest: 1, Newest: 2})
	conf.URLs = []string{"tls://" + next.Address().String(), "tls://" + own.Address().String()}
	l, err := bus.Dial(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for first(t, atAgent) != nil {
	}
	bustest.Await(t, "it is connected", func() bool { return own.Connections() == 1 })
}

// TestVersionWithoutCertificate: a client without the certificate of a target receives no
// information about versions.
func TestVersionWithoutCertificate(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	srv, atHub := a.speaking(t, bus.Versions{Oldest: 3, Newest: 4})
	conf := other.conf("target", string(bustest.ID(1)))
	conf.RootCAs, conf.NextProtos = a.pool, []string{"fettle/2"}
	if r, err := dialRaw(srv, conf); err == nil {
		_ = r.conn.Close()
		t.Error("was let in")
	}
	if len(atHub) > 0 {
		t.Error("the hub names a target that nobody proved")
	}
}
