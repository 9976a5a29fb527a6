package bus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/test/port"
)

// TestHostileAgent tries all subjects that an agent can name. Subjects of other targets are denied,
// and the other target receives nothing.
func TestHostileAgent(t *testing.T) {
	a := newAuthority(t)
	t.Run("alone", func(t *testing.T) { hostileTo(t, a, a.listen(t)) })
	t.Run("with others", func(t *testing.T) {
		hostileTo(t, a, a.over(t, "hub1", bustest.NewOthers(t, 1, port.Reserve).ExternalNats("acme")))
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

	for _, f := range frames(me, victim) {
		r := newRaw(t, a, srv, me)
		_ = r.send(f.kind, f.body) // the hub may have ended the connection already
		_ = r.conn.Close()
	}
	for _, reply := range replies(me, victim) {
		r := newRaw(t, a, srv, me)
		_ = r.send('M', said("q.report", reply, nil))
		_ = r.conn.Close()
	}
	r := newRaw(t, a, srv, me)
	for _, body := range []string{"", "x", "server 1", "\x00", strings.Repeat("1", 5000)} {
		_ = r.send('M', said("here", "", []byte(body)))
	}
	for _, rest := range []string{"r.x.1", "d.x.1", "r", "d", "r.x.1.2", "q.unknown", "up.q.report", "down.q.do"} {
		_ = r.send('M', said(rest, "", []byte("D")))
	}
	if err := r.send('M', said("q.report", "r.x.1", nil)); err != nil {
		t.Fatal(err)
	}
	if kind, body, err := r.next(); err != nil || kind != 'M' || !bytes.Equal(body, said("r.x.1", "", []byte("\x00ok"))) {
		t.Errorf("its own question: %q %q, %v", kind, body, err)
	}

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

type frame struct {
	kind byte
	body []byte
}

// frames are not permitted for the agent, or invalid.
func frames(me, victim fleet.TargetID) []frame {
	out := []frame{
		{'H', []byte("\x01hub")}, {'N', []byte("r.x.1")}, {'X', nil}, {0, nil}, {'M', nil}, {'M', []byte{0xff}}, {'M', []byte{0, 0}}, {'M', []byte{5, 'q'}},
		{'M', append(binary.AppendUvarint(nil, 1<<40), "q.report"...)}, {'P', []byte("with a body")}, {'O', nil},
	}
	for _, subject := range []string{
		"", ".", "..", ">", "*", "q.>", "q.*", "*.report", "q..report", ".q.report", "q.report.", "q.re port", "q.report\n", "q.r\x00", "q.ä", strings.Repeat("q.", 500) + "q",
		"f." + string(victim) + ".up.q.report", "f." + string(victim) + ".up.here", "f." + string(victim) + ".down.q.do", "f." + string(me) + ".down.q.do",
		"../" + string(victim) + "/up/q/report", "_INBOX.x", "$JS.API.INFO", "$JS.API.STREAM.DELETE.KV_targets", "$JS.API.STREAM.PURGE.LOG_events", "$KV.targets.key",
		"log.events", "$SYS.REQ.SERVER.PING", "$SYS.ACCOUNT.$G.DISCONNECT", "hubs.told", "hubs.to.x",
	} {
		out = append(out, frame{'M', said(subject, "r.x.1", []byte("{}"))}, frame{'M', said(subject, "", []byte("{}"))})
	}
	return out
}

// replies try to make the hub answer at subjects where the agent may not send: the agent chooses
// the reply subject.
func replies(me, victim fleet.TargetID) []string {
	return []string{
		"q.do", "s.do", "d.x", "r.x", "r.x.y.z", "r", "*", ">", "r.*.1", "f." + string(victim) + ".down.q.do", "f." + string(victim) + ".up.q.report", "f." + string(victim) + ".down.r.x.1",
		"$JS.API.STREAM.DELETE.KV_targets", "$KV.targets.key", "log.events", "f." + string(me) + ".down.q.do", "r.x.1\n", strings.Repeat("r", 300),
	}
}

// TestFloods: an agent that sends too much of anything loses its connection, or has no effect.
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
	floods := map[string]func(r *raw){
		"a message that is too large": func(r *raw) { _ = r.send('M', said("q.report", "r.x.1", make([]byte, 32<<20))) },
		"a gigabyte": func(r *raw) {
			_, _ = r.conn.Write([]byte{0x40, 0, 0, 0, 'M'})
			if _, _, err := r.next(); err == nil {
				t.Error("the hub waits for a gigabyte")
			}
		},
		"half a frame": func(r *raw) { _, _ = r.conn.Write([]byte{0, 16, 0, 0, 'M', 1}) },
		"pings whose answers it does not read": func(r *raw) {
			for range 100_000 {
				if r.send('P', nil) != nil {
					return
				}
			}
		},
		"questions whose answers it does not read": func(r *raw) {
			body := make([]byte, 100<<10)
			for range 300 {
				if r.send('M', said("q.report", "r.x.1", body)) != nil {
					return
				}
			}
		},
	}
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		r := newRaw(t, a, srv, bustest.ID(1))
		floods[name](r)
		fine(name)
		_ = r.conn.Close()
	}
	sessions(t, a, srv)
	fine("many connections")
}

// sessions: one target has few connections, and the newest ones stay.
func sessions(t *testing.T, a *authority, srv *bus.Server) {
	bustest.Await(t, "what was there has ended", func() bool { return srv.Connections() == 1 })
	for range 20 {
		newRaw(t, a, srv, bustest.ID(1))
	}
	bustest.Await(t, "the older connections are ended", func() bool { return srv.Connections() == 3 })
}
