package bus_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(runChild(child))
	}
	if seat := os.Getenv(clusterEnv); seat != "" {
		os.Exit(runSeat(seat))
	}
	if seat := os.Getenv(memoryEnv); seat != "" {
		os.Exit(runMemory(seat))
	}
	bustest.OutsideOfBubbles()
	os.Exit(m.Run())
}

// soon is a short back-off for tests in real time.
var soon = bus.Backoff{First: 20 * time.Millisecond, Most: 100 * time.Millisecond}

func memory(t *testing.T) bustest.Bus {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	n := bustest.NewNet(ctx, bustest.Faults{})
	stores, logs := map[string]*bustest.Store{}, map[string]*bustest.Log{}
	return bustest.Bus{
		Store: func(name string) fleet.Store {
			if stores[name] == nil {
				stores[name] = bustest.NewStore()
			}
			return stores[name]
		},
		Log: func(name string) fleet.Log {
			if logs[name] == nil {
				logs[name] = bustest.NewLog()
			}
			return logs[name]
		},
		Exchange: n.Exchange(),
		Link:     func(ctx context.Context, id fleet.TargetID) fleet.Link { return n.Link(ctx, id) },
	}
}

func embedded(t *testing.T) bustest.Bus {
	srv := bustest.Embedded(t)
	return busOf(t, srv, func(id fleet.TargetID) bus.LinkConfig { return srv.Local(id) })
}

func busOf(t *testing.T, srv *bus.Server, link func(fleet.TargetID) bus.LinkConfig) bustest.Bus {
	return bustest.Bus{
		Store: func(name string) fleet.Store {
			s, err := srv.Store(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Log: func(name string) fleet.Log {
			l, err := srv.Log(context.Background(), bus.LogConfig{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		Exchange: srv.Exchange(),
		Link: func(ctx context.Context, id fleet.TargetID) fleet.Link {
			c := link(id)
			c.Backoff = soon
			l, err := bus.Dial(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
	}
}

func TestInMemory(t *testing.T) {
	bustest.Conform(t, func(t *testing.T) bustest.Bus { return memory(t) })
}

func TestEmbedded(t *testing.T) { bustest.Conform(t, embedded) }

// TestVirtualTime shows that the real bus works with virtual time. If it hangs or panics after an
// update of the NATS server, see bustest.OutsideOfBubbles.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := bustest.Embedded(t)
		b := busOf(t, srv, srv.Local)
		s, l := b.Store("things"), b.Log("events")
		if err := b.Exchange.Serve("beat", func(ctx context.Context, id fleet.TargetID, body []byte) ([]byte, error) {
			_, err := l.Append(ctx, [][]byte{body})
			return nil, err
		}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var links []fleet.Link
		begin := time.Now()
		for i := range 5 {
			links = append(links, b.Link(ctx, bustest.ID(i)))
		}
		for time.Since(begin) < time.Hour {
			time.Sleep(time.Minute)
			for _, link := range links {
				if _, err := link.Ask(ctx, "beat", []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Put(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Exchange.Connected()); n != 5 {
			t.Errorf("%d are connected after an hour", n)
		}
		cancel()
		for _, link := range links {
			_ = link.Close()
		}
		srv.Close()
	})
}
