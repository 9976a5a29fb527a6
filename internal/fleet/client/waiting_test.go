package client_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// If a hub breaks the connection after it received a request, it may have executed it. The error of
// a change says so, the error of a query does not.
func TestAnswersThatAreLost(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "hub.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<16)) // the whole request
			_ = conn.Close()
		}
	}()
	c, err := client.New(client.Login{Hub: "unix://" + socket})
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := 0, 0
	c.OnWait(func() func() { begun++; return func() { ended++ } })
	const unknown = "the result of the request is unknown"
	if _, err := freezeWeb1(t.Context(), c); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("a change: %v", err)
	}
	if _, err := client.Get(t.Context(), c, route.Status()); err == nil || strings.Contains(err.Error(), unknown) {
		t.Errorf("a question: %v", err)
	}
	if begun != 2 || ended != 2 {
		t.Errorf("%d waits begun, %d ended", begun, ended)
	}
	_ = l.Close()
	if _, err := freezeWeb1(t.Context(), c); err == nil || strings.Contains(err.Error(), unknown) {
		t.Errorf("a hub that does not run: %v", err)
	}
}

func freezeWeb1(ctx context.Context, c *client.Client) (document.Done, error) {
	return client.Call(ctx, c, route.FreezeTarget(), route.TargetName{Target: "web1"}, document.FreezeRequest{})
}
