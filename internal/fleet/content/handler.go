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

// Path is the URL path of content: Path + digest.
const Path = "/v1/content/"

// Server serves the content of a store over HTTP: GET and HEAD of Path + "sha256:HEX", with ranges,
// an ETag, and compression by zstd. The fields must be set before the first request.
type Server struct {
	Store *Store
	// Authorize returns the client of a request, a name by which its transfers are counted, and the
	// content that it may read. nil permits nothing. Content that a client may not read has the
	// same status as missing content.
	Authorize func(*http.Request) (client string, may func(digest string) bool)
	// PerClient is the maximum number of concurrent transfers of one client, 0 for 4; Total is the
	// maximum of all clients, 0 for 256. More requests wait for Queue, 0 for 10 s: after a commit
	// all targets send requests at once.
	PerClient, Total int
	Queue            time.Duration
	// Stall is the maximum time for 64 KiB to a client; 0 is 30 s.
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
		http.Error(w, "content can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	client, may := s.Authorize(r)
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
		http.Error(w, "too many concurrent transfers. Retry later", http.StatusTooManyRequests)
		return
	}
	defer s.leave(client)
	s.serve(&patientWriter{ResponseWriter: w, control: http.NewResponseController(w),
		stall: cmp.Or(s.Stall, 30*time.Second)}, r, digest)
}

// enter waits for a slot, and returns false if there is none in time.
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

// maxAnswer is the maximum size of an answer of Answer, in bytes. All targets request content at
// once, and the hub keeps their answers in memory.
const maxAnswer = 32 << 10

// Answer returns small content, compressed by zstd; see Fetcher.FetchSmall. The error is fleet.ErrNotFound
// if the content is missing or too large. The caller must check that the client may read it.
func (s *Server) Answer(digest string) ([]byte, error) {
	f, size, err := s.Store.openAny(digest)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > MaxSmall {
		return nil, fmt.Errorf("%w: content of %d bytes is available only by HTTPS", fleet.ErrNotFound, size)
	}
	b := s.packed.get(digest, size, f)
	if b == nil || len(b) > maxAnswer {
		return nil, fmt.Errorf("%w: this content is available only by HTTPS", fleet.ErrNotFound)
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

// patientWriter limits the time for each piece that a client receives.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		// Writers without deadlines, as in tests, return an error, which is ignored.
		_ = w.control.SetWriteDeadline(time.Now().Add(w.stall))
		var m int
		m, err = w.ResponseWriter.Write(p[:min(len(p), 64<<10)])
		n, p = n+m, p[m:]
	}
	return n, err
}
