package bus_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// freezer forwards connections to a hub until it is frozen. From then on it accepts connections and
// bytes like the kernel for a stopped process, and answers nothing.
type freezer struct {
	t      *testing.T
	at     net.Listener
	to     string
	frozen chan struct{}

	mu   sync.Mutex
	open []net.Conn
}

func newFreezer(t *testing.T, to string) *freezer {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{t: t, at: l, to: to, frozen: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.hold(c)
			all.Go(func() { f.forward(c, &all) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.cut()
		all.Wait()
	})
	return f
}

// cut ends all connections.
func (f *freezer) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		_ = c.Close()
	}
}

func (f *freezer) hold(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, c)
}

// carries returns true if connections were made through it.
func (f *freezer) carries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open) > 0
}

func (f *freezer) forward(c net.Conn, all *sync.WaitGroup) {
	far, err := (&net.Dialer{}).Dial("tcp", f.to)
	if err != nil {
		return
	}
	f.hold(far)
	all.Go(func() { _, _ = io.Copy(thawed{c, f.frozen}, far) })
	_, _ = io.Copy(thawed{far, f.frozen}, c)
}

// thawed drops writes after the freeze.
type thawed struct {
	io.Writer
	frozen <-chan struct{}
}

func (w thawed) Write(b []byte) (int, error) {
	select {
	case <-w.frozen:
		return len(b), nil
	default:
		return w.Writer.Write(b)
	}
}

// An agent whose hub freezes connects to another hub by itself, although the frozen hub still
// accepts connections and bytes. The other hub then reaches the agent.
func TestFrozenHub(t *testing.T) {
	a := newAuthority(t)
	srv := a.listen(t)
	ready := make(chan struct{}, 16)
	if err := srv.Exchange().Serve("report", func(context.Context, fleet.TargetID, []byte) ([]byte,
		error) {
		return []byte("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	first := newFreezer(t, srv.Address().String())
	conf := a.link(srv, bustest.ID(1))
	conf.URLs = []string{"tls://" + first.at.Addr().String()}
	conf.Ping, conf.Timeout = 100*time.Millisecond, 2*time.Second
	second := newFreezer(t, srv.Address().String())
	conf.Where = func() []string {
		if !first.carries() {
			return nil // only the first one at the beginning
		}
		return []string{conf.URLs[0], "tls://" + second.at.Addr().String()}
	}
	link, err := bus.Dial(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	link.Changes(func(up bool) {
		if up {
			ready <- struct{}{}
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	await := func() {
		select {
		case <-ready:
		case <-ctx.Done():
			t.Fatal("no connection")
		}
	}
	await()
	if got, err := link.Ask(ctx, "report", nil); string(got) != "ok" || err != nil {
		t.Fatalf("before: %q, %v", got, err)
	}
	close(first.frozen)
	await()
	if got, err := link.Ask(ctx, "report", nil); string(got) != "ok" || err != nil || !second.carries() {
		t.Errorf("after: %q, %v", got, err)
	}
}
