package content

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestPackedCacheForgets: the oldest content is removed above the limit. Content that is too large
// or cannot be read is never added.
func TestPackedCacheForgets(t *testing.T) {
	var c packedCache
	text := []byte("some text")
	b := c.get("a", int64(len(text)), bytes.NewReader(text))
	if b == nil || c.total != len(b) || !bytes.Equal(c.get("a", 1, nil), b) || len(c.order) != 1 {
		t.Fatalf("%d bytes, %v", c.total, c.order)
	}
	if c.get("large", packedOne+1, bytes.NewReader(text)) != nil || c.get("cut", 100, bytes.NewReader(text)) != nil ||
		len(c.have) != 1 {
		t.Error("what cannot be packed is kept")
	}
	c.have["old"], c.order, c.total = make([]byte, packedTotal-len(b)), append(c.order, "old"), packedTotal
	n := c.get("b", int64(len(text)), bytes.NewReader(text))
	if _, kept := c.have["a"]; kept || c.total != packedTotal-len(b)+len(n) ||
		!slices.Equal(c.order, []string{"old", "b"}) {
		t.Errorf("%d bytes, %v", c.total, c.order)
	}
	if c.get("c", int64(len(text)), bytes.NewReader(text)); !slices.Equal(c.order, []string{"b", "c"}) ||
		len(c.have) != 2 || c.total != 2*len(n) {
		t.Errorf("%d bytes, %v", c.total, c.order)
	}
}

// TestWhoTakesZstd: only clients that offer it receive zstd.
func TestWhoTakesZstd(t *testing.T) {
	for text, takes := range map[string]bool{"zstd": true, "gzip, zstd": true, "gzip,zstd ,br": true, "zstdx": false,
		"": false, "gzip": false} {
		if got := takesZstd(&http.Request{Header: http.Header{"Accept-Encoding": {text}}}); got != takes {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestSlots: each client and all clients together have a limit, and a client that leaves frees a
// slot.
func TestSlots(t *testing.T) {
	s := &Server{PerClient: 2, Total: 3, Queue: time.Hour}
	enter := func(client string, want bool) {
		t.Helper()
		if got := s.enter(t.Context(), client); got != want {
			t.Errorf("%s enters: %t", client, got)
		}
	}
	enter("a", true)
	enter("a", true)
	enter("a", false)
	enter("b", true)
	s.Queue = time.Nanosecond
	enter("c", false)
	s.Queue = time.Hour
	if !maps.Equal(s.clients, map[string]int{"a": 2, "b": 1}) {
		t.Errorf("%v", s.clients)
	}
	s.leave("a")
	enter("c", true)
	s.leave("c")
	s.leave("b")
	s.leave("a")
	if len(s.clients) != 0 || len(s.slots) != 0 {
		t.Errorf("%v, %d", s.clients, len(s.slots))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := &Server{Total: 1, Queue: time.Hour}
	if !full.enter(t.Context(), "a") || full.enter(ctx, "b") {
		t.Error("a client that is gone waits for a slot")
	}
	var d Server
	for range 4 {
		if _, ok := d.count("a"); !ok {
			t.Error("four transfers are too many")
		}
	}
	if _, ok := d.count("a"); ok || cap(d.slots) != 256 {
		t.Error("five transfers are not")
	}
}

// TestPiecesOfAnswers: a client gets an answer in pieces of 64 KiB, until one fails.
func TestPiecesOfAnswers(t *testing.T) {
	for _, c := range []struct {
		size, fails int // the piece at which it fails, from 1
		pieces      []int
	}{{0, 0, nil}, {1, 0, []int{1}}, {64 << 10, 0, []int{64 << 10}}, {64<<10 + 1, 0, []int{64 << 10, 1}},
		{200 << 10, 2, []int{64 << 10, 0}}} {
		p := &pieces{ResponseWriter: httptest.NewRecorder(), fails: c.fails}
		w := &patientWriter{ResponseWriter: p, control: http.NewResponseController(p), stall: time.Hour}
		n, err := w.Write(make([]byte, c.size))
		sum := 0
		for _, k := range p.sizes {
			sum += k
		}
		if !slices.Equal(p.sizes, c.pieces) || n != sum || (err != nil) != (c.fails > 0) {
			t.Errorf("%d bytes: %v, %d, %v", c.size, p.sizes, n, err)
		}
	}
}

type pieces struct {
	http.ResponseWriter
	sizes []int
	fails int
}

func (p *pieces) Write(b []byte) (int, error) {
	if p.sizes = append(p.sizes, len(b)); len(p.sizes) == p.fails {
		p.sizes[len(p.sizes)-1] = 0
		return 0, http.ErrHandlerTimeout
	}
	return len(b), nil
}
