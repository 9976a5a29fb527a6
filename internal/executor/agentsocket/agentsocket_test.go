package agentsocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/agentsocket"
)

// dialer returns a Dial whose connections are served by s.
func dialer(t *testing.T, s agentsocket.Server) agentsocket.Dial {
	return func(context.Context) (io.ReadWriteCloser, error) {
		a, b := net.Pipe()
		go s.Serve(t.Context(), b)
		return a, nil
	}
}

// TestAsk: a request has one answer, an error, or an end without an answer.
func TestAsk(t *testing.T) {
	dial := dialer(t, agentsocket.Server{
		agentsocket.Waits: agentsocket.Answering(func(_ context.Context, request []byte) ([]byte, error) {
			switch string(request) {
			case `{"a":1}`:
				return []byte(`{"done":true}`), nil
			case `"text"`:
				return []byte("no JSON"), nil
			case `"none"`:
				return nil, nil
			}
			return nil, errors.New("an unknown request")
		}),
		"ends": func(context.Context, []byte, io.ReadWriteCloser) {},
	})
	for _, c := range []struct{ topic, request, want, fails string }{
		{agentsocket.Waits, `{"a":1}`, `{"done":true}`, ""},
		{agentsocket.Waits, `7`, "", "an unknown request"},
		{agentsocket.Waits, `"text"`, "", "not JSON"},
		{agentsocket.Waits, `"none"`, "", "not JSON"},
		{"ends", `7`, "", "does not answer"},
		{"dreams", `7`, "", `does not support requests about "dreams": it is a different version`},
	} {
		got, err := agentsocket.Ask(t.Context(), dial, c.topic, []byte(c.request))
		if string(got) != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s %s: %q, %v", c.topic, c.request, got, err)
		}
	}
}

// TestAskEnds: Ask returns when its context ends, and when no agent runs.
func TestAskEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dial := dialer(t, agentsocket.Server{"slow": func(ctx context.Context, _ []byte, _ io.ReadWriteCloser) {
		cancel()
		<-ctx.Done()
	}})
	if _, err := agentsocket.Ask(ctx, dial, "slow", []byte("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled request: %v", err)
	}
	none := func(context.Context) (io.ReadWriteCloser, error) { return nil, agentsocket.ErrNoAgent }
	if _, err := agentsocket.Ask(t.Context(), none, "x", []byte("1")); !errors.Is(err, agentsocket.ErrNoAgent) {
		t.Errorf("without an agent: %v", err)
	}
}

// TestConversation: documents that follow the first one at once are not lost.
func TestConversation(t *testing.T) {
	a, b := net.Pipe()
	done := make(chan struct{})
	s := agentsocket.Server{"echo": agentsocket.Conversation(func(_ context.Context, conn io.ReadWriteCloser) {
		defer conn.Close()
		in, out := json.NewDecoder(conn), json.NewEncoder(conn)
		for {
			var v any
			if in.Decode(&v) != nil {
				return
			}
			_ = out.Encode(v)
		}
	})}
	go func() { defer close(done); s.Serve(t.Context(), b) }()
	go func() { _, _ = io.WriteString(a, `{"topic":"echo"}`+"\n1 2\n"); _, _ = io.WriteString(a, "3\n") }()
	in := json.NewDecoder(a)
	for want := range 3 {
		var got int
		if err := in.Decode(&got); err != nil || got != want+1 {
			t.Fatalf("%d: %v", got, err)
		}
	}
	_ = a.Close()
	<-done
}

// TestServeEnds: a connection without a document ends with the agent, and one that is too long ends.
func TestServeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); agentsocket.Server{}.Serve(ctx, b) }()
	cancel()
	<-done
	_ = a.Close()
	a, b = net.Pipe()
	defer a.Close()
	go agentsocket.Server{}.Serve(t.Context(), b)
	if _, err := io.WriteString(a, strings.Repeat(" ", 1<<20)); err == nil {
		t.Error("a document of 1 MiB was read")
	}
}
