package bus_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// raw connects with the library of NATS alone, as who is hostile would.
func raw(srv *bus.Server, conf *tls.Config, o ...nats.Option) (*nats.Conn, error) {
	o = append([]nats.Option{nats.Secure(conf), nats.TLSHandshakeFirst(), nats.NoReconnect(), nats.Timeout(10 * time.Second)}, o...)
	return nats.Connect("tls://"+srv.Address().String(), o...)
}

// hostile is an agent with a good certificate and bad intentions.
type hostile struct {
	t      *testing.T
	nc     *nats.Conn
	denied atomic.Int64
}

func newHostile(t *testing.T, a *authority, srv *bus.Server, id fleet.TargetID) *hostile {
	h := &hostile{t: t}
	var err error
	h.nc, err = raw(srv, a.conf("target", string(id)), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			h.denied.Add(1)
		}
	}), nats.CustomInboxPrefix("f."+string(id)+".down.r"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.nc.Close)
	return h
}

// isDenied tells whether the server refuses what is done.
func (h *hostile) isDenied(what string, do func() error) {
	h.t.Helper()
	before := h.denied.Load()
	if err := do(); err != nil {
		h.t.Errorf("%s: %v", what, err)
		return
	}
	if err := h.nc.Flush(); err != nil {
		h.t.Fatalf("%s: %v", what, err)
	}
	bustest.Await(h.t, what+" is denied", func() bool { return h.denied.Load() > before })
}

// TestHostileAgent tries everything that an agent can name. What is not its own is
// denied, and the other target notices nothing.
func TestHostileAgent(t *testing.T) {
	a := newAuthority(t)
	t.Run("alone", func(t *testing.T) { hostileTo(t, a, a.listen(t)) })
	t.Run("with others", func(t *testing.T) {
		hostileTo(t, a, a.over(t, "hub1", newOthers(t, 1).Foreign("acme")))
	})
}

func hostileTo(t *testing.T, a *authority, srv *bus.Server) {
	b := busOf(t, srv, func(id fleet.TargetID) bus.LinkConfig { return a.link(srv, id) })
	ctx := context.Background()
	store, events := b.Store("targets"), b.Log("events")
	if _, err := store.Put(ctx, "key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	me, victim := bustest.ID(1), bustest.ID(2)
	var asked atomic.Int64
	if err := b.Exchange.Serve("report", func(_ context.Context, from fleet.TargetID, _ []byte) ([]byte, error) {
		if from == victim {
			asked.Add(1)
		}
		return []byte("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	var done atomic.Int64
	good := b.Link(ctx, victim)
	defer good.Close()
	if err := good.Serve("do", func(context.Context, []byte) ([]byte, error) { done.Add(1); return nil, nil }); err != nil {
		t.Fatal(err)
	}
	bustest.Await(t, "the victim is here", func() bool { return slices.Contains(b.Exchange.Connected(), victim) })

	h := newHostile(t, a, srv, me)
	for _, subject := range publishes(me, victim) {
		h.isDenied("publish "+subject, func() error { return h.nc.PublishRequest(subject, "f."+string(me)+".down.r.x.1", []byte("{}")) })
	}
	for _, subject := range subscriptions(me, victim) {
		h.isDenied("subscribe "+subject, func() error { _, err := h.nc.Subscribe(subject, func(*nats.Msg) {}); return err })
		h.isDenied("queue "+subject, func() error { _, err := h.nc.QueueSubscribe(subject, "hubs", func(*nats.Msg) {}); return err })
	}
	confuse(t, h, me, victim)

	if n := done.Load(); n != 0 {
		t.Errorf("the victim was asked %d times", n)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the hub was asked %d times in the name of the victim", n)
	}
	if answer, err := good.Ask(ctx, "report", nil); string(answer) != "ok" || err != nil {
		t.Errorf("the victim's question: %q, %v", answer, err)
	}
	if e, err := store.Get(ctx, "key"); string(e.Value) != "secret" || err != nil {
		t.Errorf("the store has %q, %v", e.Value, err)
	}
	if seq, err := events.Append(ctx, [][]byte{nil}); seq != 1 || err != nil {
		t.Errorf("the log is at %d, %v", seq, err)
	}
	bustest.Await(t, "who speaks is here, as itself, and nobody else is", func() bool {
		return slices.Equal(b.Exchange.Connected(), []fleet.TargetID{me, victim})
	})
}

func publishes(me, victim fleet.TargetID) []string {
	return []string{
		"f." + string(victim) + ".up.q.report", "f." + string(victim) + ".up.here", "f." + string(victim) + ".down.q.do", "f." + string(me) + ".down.q.do",
		"f.*.up.q.report", "f.>", "f." + string(victim) + ".down.r.x.1", "f." + string(me) + ".down.r.x.1", "_INBOX.x", "f." + string(me), "f." + string(me) + ".up",
		"$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.mine", "$JS.API.STREAM.DELETE.KV_targets", "$JS.API.STREAM.PURGE.LOG_events",
		"$JS.API.DIRECT.GET.KV_targets", "$JS.API.DIRECT.GET.KV_targets.$KV.targets.key", "$JS.API.STREAM.MSG.GET.KV_targets", "$JS.API.CONSUMER.CREATE.KV_targets",
		"$JS.API.STREAM.SNAPSHOT.KV_targets", "$JS.API.STREAM.RESTORE.KV_targets", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.ACCOUNT.PURGE.$G",
		"$JS.ACK.KV_targets.x.1.1.1.1.1", "$JS.FC.x", "$KV.targets.key", "log.events", "$O.x",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.$G.CONNS", "$SYS.ACCOUNT.$G.DISCONNECT", "$SYS.REQ.USER.INFO", "$SRV.PING", "_R_.x", "$GR.x", "_GR_.x.y.z", "$MQTT.x",
	}
}

func subscriptions(me, victim fleet.TargetID) []string {
	return []string{
		">", "*", "*.>", "f.>", "f.*.up.>", "f.*.down.>", "f.*.*.>", "f." + string(me) + ".>", "f." + string(me) + ".up.>", "f." + string(me) + ".*.q.do",
		"f." + string(victim) + ".down.>", "f." + string(victim) + ".up.q.report", "f.*.up.q.report", "f.*.down.r.>", "f." + string(victim) + ".down.r.x.*", "_INBOX.>", "f." + string(me) + ".down",
		"$JS.>", "$JS.API.>", "$KV.>", "$KV.targets.>", "log.>", "log.events", "$SYS.>", "$SYS.ACCOUNT.>", "$SRV.>", "_R_.>",
	}
}

// confuse lets the hub answer where the agent may not write: a reply subject is only what
// the agent put there.
func confuse(t *testing.T, h *hostile, me, victim fleet.TargetID) {
	for _, reply := range []string{
		"f." + string(victim) + ".down.q.do", "f." + string(victim) + ".up.q.report", "f." + string(victim) + ".down.r.x.1", "$JS.API.STREAM.DELETE.KV_targets", "$KV.targets.key", "log.events",
		"f." + string(me) + ".down.r.x", "f." + string(me) + ".down.r.x.y.z", "f." + string(me) + "x.down.r.1.2", "f." + string(me) + ".down.q.do",
	} {
		if err := h.nc.PublishRequest("f."+string(me)+".up.q.report", reply, nil); err != nil {
			t.Error(err)
		}
	}
	for _, body := range []string{"", "x", "server 1", "\x00", strings.Repeat("1", 5000)} {
		_ = h.nc.Publish("f."+string(me)+".up.here", []byte(body))
	}
	for _, rest := range []string{"r.x.1", "d.x.1", "r", "d", "r.x.1.2", "d..", "q.unknown"} {
		_ = h.nc.Publish("f."+string(me)+".up."+rest, []byte("D"))
	}
	m, err := h.nc.Request("f."+string(me)+".up.q.report", nil, 10*time.Second)
	if err != nil || !bytes.Equal(m.Data, []byte("\x00ok")) {
		t.Errorf("its own question: %v, %v", m, err)
	}
}

// TestFloods: what one agent sends too much of costs it its connection, or nothing.
func TestFloods(t *testing.T) {
	a := newAuthority(t)
	srv := a.listen(t)
	x := srv.Exchange()
	if err := x.Serve("report", func(_ context.Context, _ fleet.TargetID, body []byte) ([]byte, error) {
		return body, nil
	}); err != nil {
		t.Fatal(err)
	}
	good, err := bus.Dial(context.Background(), a.link(srv, bustest.ID(2)))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	bustest.Await(t, "the other target is here", func() bool { return len(x.Connected()) == 1 })
	fine := func(after string) {
		t.Helper()
		if got, err := good.Ask(context.Background(), "report", []byte("hello")); string(got) != "hello" || err != nil {
			t.Errorf("after %s the other target got %q, %v", after, got, err)
		}
	}
	floods := []struct {
		name string
		do   func(h *hostile)
	}{
		{"a payload that is too large", func(h *hostile) {
			_ = h.nc.Publish("f."+string(bustest.ID(1))+".up.q.report", make([]byte, 32<<20)) // the library itself may refuse it
		}},
		{"subscriptions", func(h *hostile) {
			for i := range 5000 {
				if _, err := h.nc.Subscribe(fmt.Sprintf("f.%s.down.r.x.%d", bustest.ID(1), i), func(*nats.Msg) {}); err != nil {
					return
				}
			}
		}},
		{"questions whose answers it does not read", func(h *hostile) {
			body := make([]byte, 100<<10)
			for range 300 {
				if h.nc.PublishRequest("f."+string(bustest.ID(1))+".up.q.report", "f."+string(bustest.ID(1))+".down.r.x.1", body) != nil {
					return
				}
			}
		}},
	}
	for _, f := range floods {
		h := newHostile(t, a, srv, bustest.ID(1))
		f.do(h)
		_ = h.nc.Flush()
		fine(f.name)
		h.nc.Close()
	}
	if n := srv.Figures().Subscriptions; n > 1000 {
		t.Errorf("there are %d subscriptions", n)
	}
	shout(t, a, srv)
	fine("a gigabyte")
	sessions(t, a, srv)
	fine("many connections")
}

// shout says on the wire itself what the library refuses to say: that more comes than
// may. The server ends the connection before it has taken it.
func shout(t *testing.T, a *authority, srv *bus.Server) {
	c, err := tls.Dial("tcp", srv.Address().String(), a.conf("target", string(bustest.ID(1))))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	if info, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(info, "INFO ") {
		t.Fatalf("the server says %q, %v", info, err)
	}
	if _, err := fmt.Fprint(c, "CONNECT {}\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	for line := ""; line != "PONG\r\n"; { // it says +OK, and may ask by itself
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(c, "PUB f.%s.up.q.report 1073741824\r\n", bustest.ID(1)); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil && !strings.Contains(string(rest), "-ERR") {
		t.Errorf("to a gigabyte the server says %q, and %v", rest, err)
	}
}

// sessions: one target has few connections, and the newest are kept.
func sessions(t *testing.T, a *authority, srv *bus.Server) {
	before := srv.Figures().Connections
	for range 20 {
		newHostile(t, a, srv, bustest.ID(1))
	}
	bustest.Await(t, "the older connections are ended", func() bool { return srv.Figures().Connections <= before+2 })
}
