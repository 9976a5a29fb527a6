package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync/atomic"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// shelf is the shared storage of the hubs of a fleet, which a backup copies.
type shelf struct {
	stores map[string]*bustest.Store
	log    *bustest.Log
	acked  map[string]string // reports that agents were told are durable, by target and number
}

func newShelf() *shelf {
	k := &shelf{stores: map[string]*bustest.Store{}, log: bustest.NewLog(), acked: map[string]string{}}
	for _, name := range records.Names() {
		k.stores[name] = bustest.NewStore()
	}
	return k
}

func (k *shelf) fail(err error) {
	for _, s := range k.stores {
		s.Break(err)
	}
	k.log.Break(err)
}

// simBus is the bus of one hub: its own network, and the shared storage.
type simBus struct {
	sim  *sim
	net  *bustest.Net
	kept *shelf
	dead *atomic.Bool
}

var errDead = errors.New("the process is gone")

func (b *simBus) Store(_ context.Context, name string) (fleet.Store, error) {
	return &mortalStore{Store: b.kept.stores[name], bus: b, name: name}, nil
}

func (b *simBus) Log(context.Context, bus.LogConfig) (fleet.Log, error) {
	return &mortalLog{Log: b.kept.log, bus: b}, nil
}
func (b *simBus) Exchange() *bus.Exchange { return b.net.Exchange() }
func (b *simBus) Address() net.Addr       { return nil }
func (b *simBus) Healthy() error          { return nil }
func (b *simBus) Close()                  { b.net.Stop() }

// mortalStore is a store to which a dead process cannot write, and in which assignments are
// checked.
type mortalStore struct {
	fleet.Store
	bus  *simBus
	name string
}

func (s *mortalStore) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if s.bus.dead.Load() {
		return fleet.Entry{}, errDead
	}
	return s.Store.Get(ctx, key)
}

func (s *mortalStore) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if s.bus.dead.Load() {
		return 0, errDead
	}
	s.writes(value)
	rev, err := s.Store.Put(ctx, key, value)
	s.wrote(value, err)
	return rev, err
}

func (s *mortalStore) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if s.bus.dead.Load() {
		return 0, errDead
	}
	s.writes(value)
	if s.name == "scopes" && s.bus.sim.burns(s.bus.dead, false) {
		return 0, errDead
	}
	rev, err := s.Store.Update(ctx, key, value, rev)
	if s.name == "scopes" && s.bus.sim.burns(s.bus.dead, true) {
		return 0, errDead
	}
	s.wrote(value, err)
	return rev, err
}

func (s *mortalStore) Delete(ctx context.Context, key string, rev uint64) error {
	if s.bus.dead.Load() {
		return errDead
	}
	return s.Store.Delete(ctx, key, rev)
}

// writes: a watch reports the entry before the write has returned.
func (s *mortalStore) writes(value []byte) {
	if s.name == "assignments" {
		s.bus.sim.intend(s.bus.kept, value)
	}
}

func (s *mortalStore) wrote(value []byte, err error) {
	if err == nil && s.name == "assignments" {
		s.bus.sim.issue(s.bus.kept, value)
	}
}

type mortalLog struct {
	fleet.Log
	bus *simBus
}

func (l *mortalLog) Append(ctx context.Context, records [][]byte) (uint64, error) {
	if l.bus.dead.Load() {
		return 0, errDead
	}
	return l.Log.Append(ctx, records)
}

// wire is a listener in memory.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}
func (w *wire) Close() error   { return nil }
func (w *wire) Addr() net.Addr { return local }

// addressed is a pipe whose ends have an address.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return local }

var local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

func (w *wire) dial(ctx context.Context) (net.Conn, error) {
	here, there := roomyPipe()
	select {
	case w.conns <- addressed{there}:
		return addressed{here}, nil
	case <-w.closed:
	case <-ctx.Done():
	}
	_, _ = here.Close(), there.Close()
	return nil, fmt.Errorf("cannot connect: %w", net.ErrClosed)
}

// serveWire is Hub.serveHTTP in memory.
func (h *simHub) serveWire(of *Hub, ctx context.Context) error {
	trust, err := of.keys.Trust(of.revoked)
	if err != nil {
		return err
	}
	w := &wire{conns: make(chan net.Conn), closed: make(chan struct{})}
	far := api.Server(h.sim.withoutHistories(of.routes()))
	far.ErrorLog = log.New(io.Discard, "", 0)
	far.TLSConfig = trust.ServerTLS(of.keys.TLS, of.now)
	ended := make(chan error, 1)
	go func() { ended <- far.ServeTLS(w, "", "") }()
	h.opened(of, w)
	<-ctx.Done()
	h.opened(nil, nil)
	close(w.closed)
	err = errors.Join(far.Close(), ignoreClosed(<-ended))
	return err
}

func ignoreClosed(error) error { return nil }
