package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

// upgrades is a handler that answers each line of a stream with the same line.
func upgrades(t *testing.T, ended chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			document.ExecutorProtocol)
		for err == nil {
			var line string
			if line, err = buffered.ReadString('\n'); err == nil {
				_, err = fmt.Fprint(conn, line)
			}
		}
		ended <- errors.Join(err, r.Context().Err())
	})
}

// TestInsideUpgrade: a handler in this process can turn a request into a stream, which ends when one end closes it and
// not with the context of the request.
func TestInsideUpgrade(t *testing.T) {
	ended := make(chan error, 1)
	c := client.Inside(upgrades(t, ended), "token1", httptest.NewRequest(http.MethodGet, "/", nil))
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.Executor(ctx, "web1", false, "fettle log")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	from := bufio.NewReader(stream)
	for _, want := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(stream, want); err != nil {
			t.Fatal(err)
		}
		if line, err := from.ReadString('\n'); err != nil || line != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		t.Errorf("the handler ended with %v", err)
	}
}

// TestInsideUpgradeRefused: a refusal is a problem, a failed handler is an error, and a handler that waits ends with
// the request.
func TestInsideUpgradeRefused(t *testing.T) {
	open := func(ctx context.Context, h http.HandlerFunc) error {
		c := client.Inside(h, "", httptest.NewRequest(http.MethodGet, "/", nil))
		_, err := c.Executor(ctx, "web1", false, "")
		return err
	}
	err := open(t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"title": "Offline", "status": 503}`)
	})
	if !client.AgentOffline(err) {
		t.Error(err)
	}
	var none http.Handler
	err = open(t.Context(), func(w http.ResponseWriter, r *http.Request) { none.ServeHTTP(w, r) })
	if err == nil || !strings.Contains(err.Error(), "nil pointer") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = open(ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
