package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Path is where content is served: Path + digest.
const Path = "/v1/content/"

// Server gives content of a store over HTTP: GET and HEAD of Path + "sha256:HEX", with
// ranges, an ETag, and compressed as zstd for those who take that. Its fields are set
// before the first request.
type Server struct {
	Store *Store
	// May tells who asks, a name by which transfers are counted, and what that one may
	// have. nil is nothing at all. What a client may not have does not exist for it.
	May func(*http.Request) (client string, may func(digest string) bool)
	// PerClient is how many transfers one client may have at once, 0 for 4; Total is
	// that of all, 0 for 256. Who comes when there are so many waits for Queue, 0 for 10 s:
	// a commit makes all of a fleet come at once.
	PerClient, Total int
	Queue            time.Duration
	// Stall is how long a client may take for 64 KiB; 0 is 30 s.
	Stall time.Duration

	mu      sync.Mutex
	clients map[string]int
	slots   chan struct{}
	packed  packedCache
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "content is only read: GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	client, may := s.May(r)
	if may == nil {
		http.Error(w, "not allowed", http.StatusForbidden)
		return
	}
	digest, ok := strings.CutPrefix(r.URL.Path, Path)
	if !ok || fleet.CheckDigest(digest) != nil || !may(digest) {
		http.Error(w, "there is no such content", http.StatusNotFound)
		return
	}
	if !s.enter(r.Context(), client) {
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many transfers at once; come again", http.StatusTooManyRequests)
		return
	}
	defer s.leave(client)
	s.serve(&patientWriter{ResponseWriter: w, control: http.NewResponseController(w), stall: cmp.Or(s.Stall, 30*time.Second)}, r, digest)
}

// enter waits for a slot, and tells whether there is one.
func (s *Server) enter(ctx context.Context, client string) bool {
	slots, ok := s.count(client)
	if !ok {
		return false
	}
	t := time.NewTimer(cmp.Or(s.Queue, 10*time.Second))
	defer t.Stop()
	select {
	case slots <- struct{}{}:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	s.forget(client)
	return false
}

// count counts one more transfer of a client, unless it has too many.
func (s *Server) count(client string) (slots chan<- struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil {
		s.clients, s.slots = map[string]int{}, make(chan struct{}, cmp.Or(s.Total, 256))
	}
	if s.clients[client] >= cmp.Or(s.PerClient, 4) {
		return nil, false
	}
	s.clients[client]++
	return s.slots, true
}

func (s *Server) leave(client string) {
	<-s.slots
	s.forget(client)
}

func (s *Server) forget(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[client]--; s.clients[client] == 0 {
		delete(s.clients, client)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, digest string) {
	f, size, err := s.Store.openAny(digest)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		http.Error(w, "there is no such content", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, "the content cannot be read", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("Range") == "" && takesZstd(r) {
		if b := s.packed.get(digest, size, f); b != nil {
			h.Set("Content-Encoding", "zstd")
			h.Set("ETag", strconv.Quote(digest+"+zstd"))
			h.Set("Content-Length", strconv.Itoa(len(b)))
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
			return
		}
	}
	h.Set("ETag", strconv.Quote(digest))
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(f, 0, size))
}

// maxAnswer is how large an answer in one piece is, in bytes: a fleet asks at once, and what
// is on its way to each is in the memory of the hub.
const maxAnswer = 32 << 10

// Answer gives small content in one piece, compressed as zstd; see Fetcher.Ask. The error is
// fleet.ErrNotFound for what is not there and for what is too large. Whether who asks may have
// it, the caller has seen to.
func (s *Server) Answer(digest string) ([]byte, error) {
	f, size, err := s.Store.openAny(digest)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > MaxAsked {
		return nil, fmt.Errorf("%w: content of %d bytes is got by HTTPS", fleet.ErrNotFound, size)
	}
	b := s.packed.get(digest, size, f)
	if b == nil || len(b) > maxAnswer {
		return nil, fmt.Errorf("%w: this content is got by HTTPS", fleet.ErrNotFound)
	}
	return b, nil
}

func takesZstd(r *http.Request) bool {
	for _, e := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(e) == "zstd" {
			return true
		}
	}
	return false
}

// patientWriter gives a client so long for each piece, and no longer.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		// A writer without deadlines, as in tests, goes without.
		_ = w.control.SetWriteDeadline(time.Now().Add(w.stall))
		var m int
		m, err = w.ResponseWriter.Write(p[:min(len(p), 64<<10)])
		n, p = n+m, p[m:]
	}
	return n, err
}
