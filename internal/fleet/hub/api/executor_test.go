package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// bridged is a hub whose targets answer each line with the user and the right to change.
func bridged(t *testing.T, change func(*api.Handler)) (*apitest.Hub, *httptest.Server) {
	t.Helper()
	hub := newHub(t)
	hub.Open = func(by access.Principal, id fleet.TargetID, changes bool) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for s := bufio.NewScanner(far); s.Scan() && s.Text() != "end"; {
				fmt.Fprintf(far, "%s %v %s\n", by.Name, changes, s.Text())
			}
		}()
		return near, nil
	}
	h := hub.Handler()
	change(h)
	server := httptest.NewUnstartedServer(h)
	server.Config = api.Server(h)
	server.Start()
	t.Cleanup(server.Close)
	return hub, server
}

// upgrade requests an executor with exactly this path.
func upgrade(t *testing.T, server *httptest.Server, path, token string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+path, strings.NewReader(`{"command":"status"}`))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Connection": "Upgrade", "Upgrade": document.ExecutorProtocol} {
		r.Header.Set(k, v)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// A stream copies data in both directions, has the right of its user, and ends at both ends when
// one end closes it.
func TestExecutor(t *testing.T) {
	hub, server := bridged(t, func(*api.Handler) {})
	for path, want := range map[string]string{"look": "jane false hello\n", "work": "jane true hello\n"} {
		answer := upgrade(t, server, "/v1/targets/web1/"+path, "operate")
		stream, ok := answer.Body.(io.ReadWriteCloser)
		if answer.StatusCode != http.StatusSwitchingProtocols || !ok {
			t.Fatalf("%s: %s", path, answer.Status)
		}
		fmt.Fprintln(stream, "hello")
		fmt.Fprintln(stream, "end")
		if b, err := io.ReadAll(stream); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	if answer := upgrade(t, server, "/v1/targets/web1/work", "read"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("who may read works: %s", answer.Status)
	}
	if answer := upgrade(t, server, "/v1/targets/db1/work", "operate"); answer.StatusCode != http.StatusConflict {
		t.Errorf("a target that waits for approval is worked on: %s", answer.Status)
	}
	if answer := upgrade(t, server, "/v1/targets/nobody/work", "operate"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("%s", answer.Status)
	}
	hub.Open = nil
	if answer := upgrade(t, server, "/v1/targets/web1/work",
		"operate"); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a target that is away: %s", answer.Status)
	}
	if w := ask(hub.Handler(), "POST", "/v1/targets/web1/work", "operate", "{}"); w.Code != http.StatusUpgradeRequired ||
		w.Header().Get("Upgrade") != document.ExecutorProtocol {
		t.Errorf("without an upgrade: %d", w.Code)
	}
	began := "POST /v1/targets/{target}/work web1 " + access.Begun
	if acts := hub.Acts(); !slices.Contains(acts, began) ||
		!slices.Contains(acts, "POST /v1/targets/{target}/look web1 "+access.Begun) {
		t.Errorf("the audit log: %v", acts)
	}
}

// The streams of a locked user end. If the hub cannot check the right, they continue.
func TestExecutorEndsWithTheRight(t *testing.T) {
	var state atomic.Int32
	hub, server := bridged(t, func(h *api.Handler) {
		h.Recheck = 5 * time.Millisecond
		h.Authenticate = func(r *http.Request) (access.Principal, error) {
			switch state.Load() {
			case 1:
				state.CompareAndSwap(1, 2)
				return access.Principal{}, io.ErrUnexpectedEOF
			case 3:
				return access.NewPrincipal("jane", "token", access.Reader), nil
			}
			return apitest.Authenticate(r)
		}
	})
	stream := upgrade(t, server, "/v1/targets/web1/work", "operate").Body.(io.ReadWriteCloser)
	state.Store(1)
	for state.Load() == 1 {
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(stream, "still")
	lines := bufio.NewReader(stream)
	if text, err := lines.ReadString('\n'); err != nil || text != "jane true still\n" {
		t.Fatalf("%q, %v", text, err)
	}
	state.Store(3)
	if _, err := lines.ReadString('\n'); err == nil {
		t.Error("it goes on")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		acts := hub.Acts()
		if strings.Contains(acts[len(acts)-1], "no longer has the right to do this") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v", acts)
		}
	}
}

// A client that does not read blocks only its own stream.
func TestSlowReaderOfAnExecutor(t *testing.T) {
	hub, server := bridged(t, func(*api.Handler) {})
	var given atomic.Int64
	closed := make(chan struct{})
	hub.Open = func(access.Principal, fleet.TargetID, bool) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go func() {
			defer close(closed)
			for b := make([]byte, 1<<20); ; {
				n, err := far.Write(b)
				given.Add(int64(n))
				if err != nil {
					return
				}
			}
		}()
		return near, nil
	}
	stream := upgrade(t, server, "/v1/targets/web1/look", "read").Body.(io.ReadWriteCloser)
	for last := int64(-1); last != given.Load() || last == 0; time.Sleep(50 * time.Millisecond) {
		last = given.Load()
	}
	if n := given.Load(); n > 64<<20 {
		t.Errorf("%d bytes went to nobody", n)
	}
	if _, err := io.CopyN(io.Discard, stream, 100<<20); err != nil {
		t.Error(err)
	}
	_ = stream.Close()
	<-closed
}
