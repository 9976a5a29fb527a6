package bus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/test/port"
)

// recorder has all data that the operators of a cluster see.
type recorder struct {
	nc *nats.Conn
	js jetstream.JetStream

	mu   sync.Mutex
	seen []*nats.Msg
}

// operate connects with the rights of the operators of a cluster, and records everything.
func operate(t *testing.T, o *bustest.Others) *recorder {
	t.Helper()
	nc, err := nats.Connect(o.URLs()[0], nats.UserInfo("fettle", bustest.Password))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	r := &recorder{nc: nc}
	r.js, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Subscribe(">", func(m *nats.Msg) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, m)
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) all() []*nats.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*nats.Msg(nil), r.seen...)
}

// TestOperators: the operators of the cluster cannot read data and cannot send messages as a hub.
// Data that they write, move or replay is ignored.
func TestOperators(t *testing.T) {
	others, a := bustest.NewOthers(t, 1, port.Reserve), newAuthority(t)
	var mu sync.Mutex
	var said []string
	one, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), Name: "hub1", DontListen: true,
		ExternalNats: others.ExternalNats("acme"), Warn: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, text)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two := a.over(t, "hub2", others.ExternalNats("acme"))
	operators := operate(t, others)
	ctx, id := t.Context(), bustest.ID(1)
	b := busOf(t, one, one.Local)
	store, log := b.Store("things"), b.Log("events")

	done := 0
	agent := busOf(t, two, func(id fleet.TargetID) bus.LinkConfig { return a.link(two, id) }).Link(ctx, id)
	defer agent.Close()
	if err := agent.Serve("do", func(context.Context, []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		done++
		return []byte("the answer is classified"), nil
	}); err != nil {
		t.Fatal(err)
	}
	bustest.Await(t, "an answer over another hub", func() bool {
		_, err := one.Exchange().Ask(ctx, id, "do", []byte("the question is classified"))
		return err == nil
	})
	for _, key := range []string{"a", "b"} {
		if _, err := store.Put(ctx, key, []byte(key+" is classified")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(ctx, [][]byte{[]byte("what happened is classified")}); err != nil {
		t.Fatal(err)
	}
	told := len(operators.all())
	bustest.Await(t, "the operators see something", func() bool { told = len(operators.all()); return told > 10 })
	recorded := operators.all()
	again := done
	for _, m := range recorded {
		if bytes.Contains(m.Data, []byte("classified")) || strings.HasPrefix(m.Subject, "f.") {
			t.Errorf("the operators see %s: %.100q", m.Subject, m.Data)
		}
	}

	// Replayed messages, and messages in the name of other hubs.
	for _, m := range recorded {
		if strings.HasPrefix(m.Subject, "acme.hubs.") {
			_ = operators.nc.Publish(m.Subject, m.Data)
			_ = operators.nc.Publish(m.Subject, append(m.Data[:len(m.Data)-1:len(m.Data)-1], m.Data[len(m.Data)-1]^1))
		}
	}
	_ = operators.nc.PublishRequest("f."+string(id)+".down.q.do", "f."+string(id)+".up.r.x.1", []byte("forged"))
	_ = operators.nc.Publish("f."+string(id)+".up.q.report", []byte("forged"))

	// Forged and moved values.
	kv, err := operators.js.KeyValue(ctx, "acme_things")
	if err != nil {
		t.Fatal(err)
	}
	was, err := kv.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := kv.Put(ctx, "b", was.Value())
	_, err2 := kv.Put(ctx, "c", []byte("forged"))
	_, err3 := operators.js.Publish(ctx, "acme.log.events", []byte("forged"))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"b", "c"} {
		if e, err := store.Get(ctx, key); err == nil || !strings.Contains(err.Error(), "no hub of this fleet wrote it") {
			t.Errorf("%s is believed to be %q: %v", key, e.Value, err)
		}
	}
	all, err := store.All(ctx)
	if err != nil || len(all) != 1 || string(all[0].Value) != "a is classified" {
		t.Errorf("all is %+v, %v", all, err)
	}
	watching, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	_ = store.Watch(watching, func(e fleet.Entry) {
		if e.Key != "a" {
			t.Errorf("watched %+v", e)
		}
	}, func() {})
	var corrupt *bus.CorruptError
	if err := log.Follow(ctx, 0, func(uint64, [][]byte) error { return nil }); !errors.As(err, &corrupt) ||
		corrupt.Seq != 2 {
		t.Errorf("following: %v", err)
	}
	// A correct answer, after all forged ones.
	if answer, err := one.Exchange().Ask(ctx, id, "do", nil); err != nil || string(answer) != "the answer is classified" {
		t.Errorf("%q, %v", answer, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if done != again+1 {
		t.Errorf("the agent was asked %d times for one question", done-again)
	}
	if !strings.Contains(strings.Join(said, "\n"), "ignored the key c of the bucket things") {
		t.Errorf("nobody was told: %q", said)
	}
}
