package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// live streams the main part of a page: first as it is, then after each change. The query parameter "at" is the
// address of the page. Each event has the HTML as a JSON string. The stream ends with the session.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	at, err := url.ParseRequestURI(r.URL.Query().Get("at"))
	if err != nil || at.Host != "" || at.Scheme != "" || strings.HasPrefix(at.Path, "/live") {
		http.Error(w, "cannot follow this page", http.StatusBadRequest)
		return
	}
	f, target := s.pageAt(r, at)
	if f == nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := newStream(w, r)
	for {
		var changed <-chan struct{}
		if s.Changed != nil {
			changed = s.Changed() // before the page is read, so that no change is missed
		}
		text, rest, err := s.mainPart(target, f)
		if err != nil || out.send(text) != nil || pause(r.Context(), max(rest, time.Second)) != nil {
			return
		}
		if waitFor(r.Context(), changed, s.Refresh) != nil {
			return
		}
	}
}

// mainPart returns the main part of a page, and the time for which it counts as new. Users with the same rights share
// it. They do not share the description of a problem, which can be about one user.
func (s *Site) mainPart(r *http.Request, f pageFunc) ([]byte, time.Duration, error) {
	v, err := s.open(r)
	if err != nil {
		return nil, 0, err
	}
	failed := false
	text, rest, err := s.shared.read(shareKey(v), func() ([]byte, error) {
		v, p, _ := s.read(r, f)
		failed = p.Problem != nil
		return s.render("main", v, p, "")
	})
	if failed {
		s.shared.forget(shareKey(v))
	}
	return text, rest, err
}

// pageAt returns the function of a page, and a request for it with the credentials of r.
func (s *Site) pageAt(r *http.Request, at *url.URL) (pageFunc, *http.Request) {
	q := r.Clone(r.Context())
	q.URL, q.RequestURI, q.Method = at, at.RequestURI(), http.MethodGet
	_, pattern := s.mux.Handler(q)
	f := s.pages[strings.TrimPrefix(pattern, "GET ")]
	if f == nil {
		return nil, nil
	}
	names := http.NewServeMux() // it only finds the values in the path
	names.HandleFunc(pattern, func(_ http.ResponseWriter, with *http.Request) { q = with })
	names.ServeHTTP(nil, q)
	return f, q
}

// stream sends different versions of a page.
type stream struct {
	http.ResponseWriter
	zipped *gzip.Writer // nil if the browser does not accept it
	last   [sha256.Size]byte
}

// newStream returns a stream. It is compressed if the browser accepts it: versions of a page are large, and similar.
func newStream(w http.ResponseWriter, r *http.Request) *stream {
	o := &stream{ResponseWriter: w}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		o.zipped = gzip.NewWriter(w)
	}
	return o
}

// write writes a text and delivers it.
func (o *stream) write(text string) error {
	control := http.NewResponseController(o.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(15 * time.Second)) // writers of tests have none
	var err error
	if o.zipped == nil {
		_, err = io.WriteString(o.ResponseWriter, text)
	} else if _, err = io.WriteString(o.zipped, text); err == nil {
		err = o.zipped.Flush()
	}
	if err != nil {
		return err
	}
	return control.Flush()
}

// send sends a version, unless it is the last one. Then it only tests the connection.
func (o *stream) send(text []byte) error {
	sum := sha256.Sum256(text)
	if sum == o.last {
		return o.write(": \n\n")
	}
	o.last = sum
	line, err := json.Marshal(string(text))
	if err != nil {
		return err
	}
	return o.write(fmt.Sprintf("event: page\ndata: %s\n\n", line))
}

// waitFor waits for a change, but not longer than most.
func waitFor(ctx context.Context, changed <-chan struct{}, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-t.C:
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error { return waitFor(ctx, nil, d) }
