package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

// TestServeLocal: a browser signs in with the address, follows a page, and the end of the command ends its stream.
func TestServeLocal(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		c := web.Config{Client: web.Always(fakehub.Serve(t, fakehub.Large{N: 3}))}
		ended <- web.ServeLocal(ctx, c, 0, func(address string) { ready <- address })
	}()
	at, err := url.Parse(<-ready)
	if err != nil || at.Hostname() != "127.0.0.1" {
		t.Fatal(at, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(address string) *http.Response {
		t.Helper()
		r, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Body.Close() })
		return r
	}
	page, err := io.ReadAll(get(at.String()).Body)
	if err != nil || !strings.Contains(string(page), "3 targets") {
		t.Errorf("%s %v", page, err)
	}
	for path, want := range map[string]int{"": 400, "/live?at=/": 400, "https://example.org/": 400, "/nothing": 404,
		"/assets/x/page.js": 404} {
		if r := get("http://" + at.Host + "/live?at=" + url.QueryEscape(path)); r.StatusCode != want {
			t.Errorf("the stream of %q: %s", path, r.Status)
		}
	}
	live := get("http://" + at.Host + "/live?at=" + url.QueryEscape("/targets/host00001"))
	lines := bufio.NewReader(live.Body)
	for _, want := range []string{"event: page\n", `data: "\u003cmain`} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
			t.Errorf("%.100q %v, want %q", line, err, want)
		}
	}
	stop()
	_, _ = io.Copy(io.Discard, lines) // the end of the server or of the command ends it, with or without an error
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
