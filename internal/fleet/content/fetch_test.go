package content_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
)

func everything(*http.Request) (string, func(string) bool) {
	return "client", func(string) bool { return true }
}

// serve starts a hub with any handler.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func fetcher(s *content.Store, bases ...string) *content.Fetcher {
	return &content.Fetcher{Store: s, Bases: func() []string { return bases }, Transport: &http.Transport{DisableCompression: true},
		Attempts: 3, Pause: time.Millisecond, Stall: 10 * time.Second}
}

// noise returns text that does not compress.
func noise(size int) string {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return string(b)
}

func TestFetch(t *testing.T) {
	hub := memStore(t, 0)
	server := &content.Server{Store: hub, Authorize: everything}
	base := serve(t, server)
	agent := memStore(t, 0)
	for _, text := range []string{"", "x", "short text", strings.Repeat("compresses well ", 100_000), noise(1 << 20)} {
		want := mustAdd(t, hub, text)
		for range 2 { // the second time it is present
			if err := fetcher(agent, "http://127.0.0.1:1", base).Fetch(t.Context(), want); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := agent.Read(want, 8<<20); err != nil || string(got) != text {
			t.Errorf("%d bytes came of %d: %v", len(got), len(text), err)
		}
	}
	err := fetcher(agent, base).Fetch(t.Context(), nameOf("nobody has this"))
	wantErr(t, err, "cannot fetch the content sha256:", base, "404", "no such content")
	err = fetcher(agent).Fetch(t.Context(), nameOf("nobody has this"))
	wantErr(t, err, "no server can deliver it")
}

// cut ends each answer after this number of bytes of its body.
func cut(h http.Handler, after int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&cutWriter{w, after}, r)
	})
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if c.left < len(p) {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// TestFetchGoesOn: a download continues after each lost connection, with several hubs and a restart
// of the agent.
func TestFetchGoesOn(t *testing.T) {
	hub := memStore(t, 0)
	text := noise(1 << 20)
	want := mustAdd(t, hub, text)
	var sent atomic.Int64
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cut(&content.Server{Store: hub, Authorize: everything}, 300_000).ServeHTTP(&countWriter{w, &sent}, r)
	})
	one, two := serve(t, counting), serve(t, counting)
	agent := memStore(t, 0)
	f := fetcher(agent, one, two)
	f.Attempts = 1
	if err := f.Fetch(t.Context(), want); err == nil {
		t.Fatal("600,000 bytes are taken for the whole")
	}
	f.Attempts = 5
	if err := f.Fetch(t.Context(), want); err != nil || read(t, agent, want) != text {
		t.Fatal(err)
	}
	// Only the compressed block of the interruption, and the bytes in flight, are sent again.
	if over := sent.Load() - int64(len(text)); over > 200_000 {
		t.Errorf("%d bytes came twice", over)
	}
}

type countWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *countWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// TestFetchBelievesNobody: wrong answers of a hub never become content, and an honest hub beside it
// is enough.
func TestFetchBelievesNobody(t *testing.T) {
	hub := memStore(t, 0)
	text := strings.Repeat("true content ", 10_000)
	want := mustAdd(t, hub, text)
	honest := serve(t, &content.Server{Store: hub, Authorize: everything})
	liars := map[string]http.HandlerFunc{
		"other content": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", len(text))) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := io.WriteString(w, text); err != nil {
					return
				}
			}
		},
		"endless zstd": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "zstd")
			w.Write(content.CompressForTest(strings.Repeat("\x00", 64<<20)))
		},
		"broken zstd": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "zstd")
			io.WriteString(w, text)
		},
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, text)
		},
		"short":     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text[:100]) },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, honest+r.URL.Path, http.StatusFound) },
		"error":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 1<<20), 500) },
		"ranges": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 7-%d/%d", len(text)-1, len(text)))
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, text[7:])
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, lie := range liars {
		t.Run(name, func(t *testing.T) {
			liar := serve(t, lie)
			agent := memStore(t, 0)
			if err := fetcher(agent, liar).Fetch(t.Context(), want); err == nil || agent.Has(want) {
				t.Errorf("a liar is believed: %v", err)
			}
			if agent.Used() > want.Size {
				t.Errorf("%d bytes of lies are kept", agent.Used())
			}
			if err := fetcher(agent, liar, honest).Fetch(t.Context(), want); err != nil || read(t, agent, want) != text {
				t.Error(err)
			}
		})
	}
}

func TestFetchEnds(t *testing.T) {
	hang := make(chan struct{})
	base := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer close(hang)
	f := fetcher(memStore(t, 0), base)
	f.Attempts, f.Stall = 1, 20*time.Millisecond
	err := f.Fetch(t.Context(), nameOf("x"))
	wantErr(t, err, "no data arrived for too long")
	f.Stall = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(stop) })
	if err := f.Fetch(ctx, nameOf("x")); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func get(t testing.TB, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestServer: content that a client may not read appears as missing, and the HTTP headers suit
// proxies.
func TestServer(t *testing.T) {
	store := memStore(t, 0)
	a, b := mustAdd(t, store, strings.Repeat("a", 1000)), mustAdd(t, store, "secret")
	h := &content.Server{Store: store, Authorize: func(r *http.Request) (string, func(string) bool) {
		if r.Header.Get("Who") == "nobody" {
			return "", nil
		}
		all := r.Header.Get("Who") == "all"
		return "me", func(digest string) bool { return all || digest == a.Digest }
	}}
	url := content.Path + a.Digest
	for _, c := range []struct {
		method, path string
		header       []string
		code, size   int
	}{
		{"GET", url, nil, 200, 1000},
		{"HEAD", url, nil, 200, 0},
		{"GET", url, []string{"Range", "bytes=990-"}, 206, 10},
		{"GET", url, []string{"Range", "bytes=990-", "If-Range", `"` + a.Digest + `"`}, 206, 10},
		{"GET", url, []string{"Range", "bytes=990-", "If-Range", `"other"`}, 200, 1000},
		{"GET", url, []string{"Range", "bytes=5000-"}, 416, -1},
		{"GET", url, []string{"If-None-Match", `"` + a.Digest + `"`}, 304, 0},
		{"POST", url, nil, 405, -1},
		{"GET", url, []string{"Who", "nobody"}, 403, -1},
		{"GET", content.Path + b.Digest, nil, 404, -1},
		{"GET", content.Path + nameOf("none").Digest, nil, 404, -1},
		{"GET", content.Path + "../" + a.Digest, nil, 404, -1},
		{"GET", content.Path, nil, 404, -1},
		{"GET", content.Path + "x", []string{"Who", "all"}, 404, -1},
		{"GET", "/v1/other/" + a.Digest, []string{"Who", "all"}, 404, -1},
		{"GET", "/v1/other/" + a.Digest, nil, 404, -1},
	} {
		w := get(t, h, c.method, c.path, c.header...)
		if w.Code != c.code || c.size >= 0 && w.Body.Len() != c.size {
			t.Errorf("%s %s %q: %d with %d bytes, want %d with %d", c.method, c.path, c.header, w.Code, w.Body.Len(), c.code, c.size)
		}
	}
	w := get(t, h, "GET", url, "Accept-Encoding", "gzip, zstd")
	if cache := w.Header().Get("Cache-Control"); cache != "private, max-age=31536000, immutable" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("a cache keeps it as %q, %v", cache, w.Header())
	}
	if w.Header().Get("Content-Encoding") != "zstd" || w.Body.Len() > 100 || w.Header().Get("ETag") != `"`+a.Digest+`+zstd"` {
		t.Errorf("%v, %d bytes", w.Header(), w.Body.Len())
	}
	if length := w.Header().Get("Content-Length"); length != fmt.Sprint(w.Body.Len()) {
		t.Errorf("the length is %q, and there are %d bytes", length, w.Body.Len())
	}
	if got, want := get(t, h, "GET", content.Path+b.Digest).Body.String(), get(t, h, "GET", content.Path+nameOf("none").Digest).Body.String(); got != want {
		t.Errorf("a client learns what there is: %q and %q", got, want)
	}
}

// TestServerCounts: the number of transfers of one client is limited, and this does not delay other
// clients.
func TestServerCounts(t *testing.T) {
	store := memStore(t, 0)
	a := mustAdd(t, store, "content")
	enter, leave := make(chan struct{}), make(chan struct{})
	h := &content.Server{Store: store, PerClient: 2, Total: 3, Authorize: func(r *http.Request) (string, func(string) bool) {
		return r.Header.Get("Who"), func(string) bool { return true }
	}}
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&slowWriter{w, enter, leave}, r) })
	codes := make(chan int, 3)
	start := func(who string) { go func() { codes <- get(t, slow, "GET", content.Path+a.Digest, "Who", who).Code }() }
	start("one")
	start("one")
	<-enter
	<-enter
	if w := get(t, h, "GET", content.Path+a.Digest, "Who", "one"); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third transfer of one client: %d", w.Code)
	}
	if w := get(t, h, "GET", content.Path+a.Digest, "Who", "two"); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
	start("two")
	<-enter
	if w := get(t, h, "GET", content.Path+a.Digest, "Who", "three"); w.Code != 429 {
		t.Errorf("more than all together may have: %d", w.Code)
	}
	close(leave)
	for range 3 {
		if code := <-codes; code != 200 {
			t.Error(code)
		}
	}
	if w := get(t, h, "GET", content.Path+a.Digest, "Who", "one"); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

type slowWriter struct {
	http.ResponseWriter
	enter, leave chan struct{}
}

func (s *slowWriter) Write(p []byte) (int, error) {
	s.enter <- struct{}{}
	<-s.leave
	return s.ResponseWriter.Write(p)
}

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// TestFetchAsks: small content is downloaded by one request. Large content, and content that this
// request does not deliver, is downloaded from the bases.
func TestFetchAsks(t *testing.T) {
	hub := memStore(t, 0)
	server := &content.Server{Store: hub, Authorize: everything}
	var requests atomic.Int64
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); server.ServeHTTP(w, r) }))
	small := mustAdd(t, hub, "a small module")
	other, err := server.Answer(mustAdd(t, hub, "another module, and longer").Digest)
	if err != nil {
		t.Fatal(err)
	}
	right, err := server.Answer(small.Digest)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(b []byte, err error) func(context.Context, string) ([]byte, error) {
		return func(context.Context, string) ([]byte, error) { return b, err }
	}
	given := func(_ context.Context, digest string) ([]byte, error) { return server.Answer(digest) }
	for name, c := range map[string]struct {
		ask  func(context.Context, string) ([]byte, error)
		text string
		base int64 // requests
	}{
		"small":          {ask: given, text: "a small module"},
		"empty":          {ask: given, text: ""},
		"the most":       {ask: given, text: strings.Repeat("x", content.MaxSmall)},
		"right":          {ask: answer(right, nil), text: "a small module"},
		"too large":      {ask: given, text: strings.Repeat("x", content.MaxSmall+1), base: 1},
		"too much noise": {ask: given, text: noise(content.MaxSmall / 2), base: 1},
		"error":          {ask: answer(nil, errors.New("no")), text: "a small module", base: 1},
		"nothing":        {ask: answer(nil, nil), text: "a small module", base: 1},
		"no zstd":        {ask: answer([]byte("a small module"), nil), text: "a small module", base: 1},
		"other content":  {ask: answer(other, nil), text: "a small module", base: 1},
		"cut":            {ask: answer(right[:len(right)-3], nil), text: "a small module", base: 1},
		"a bomb":         {ask: answer(content.CompressForTest(strings.Repeat("0", 64<<20)), nil), text: "a small module", base: 1},
	} {
		t.Run(name, func(t *testing.T) {
			requests.Store(0)
			agent, want := memStore(t, 0), mustAdd(t, hub, c.text)
			f := fetcher(agent, base)
			f.FetchSmall = c.ask
			if err := f.Fetch(t.Context(), want); err != nil || read(t, agent, want) != c.text {
				t.Fatal(err)
			}
			if n := requests.Load(); n != c.base {
				t.Errorf("%d requests", n)
			}
		})
	}
	agent := memStore(t, 0)
	f := fetcher(agent)
	f.FetchSmall = answer(other, nil)
	if err := f.Fetch(t.Context(), small); err == nil || agent.Has(small) {
		t.Errorf("other content is believed: %v", err)
	}
}
