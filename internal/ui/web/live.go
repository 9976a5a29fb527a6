package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fettle.dev/fettle/internal/ui/web/versions"
)

// live streams the main part of a page: first as it is, then after each change. The query parameter "at" is the
// address of the page. Each event "page" has the HTML as a JSON string, and each event "read" the time since the page
// was read, in milliseconds. The stream ends with the session.
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
		part, rest, err := s.mainPart(target, f)
		if err != nil || out.Send(part) != nil || pause(r.Context(), max(rest, time.Second)) != nil {
			return
		}
		if waitFor(r.Context(), changed, s.Refresh) != nil {
			return
		}
	}
}

// mainPart returns the main part of a page, and the time for which it counts as new. Users with the same rights share
// it. They do not share the description of a problem, which can be about one user.
func (s *Site) mainPart(r *http.Request, f pageFunc) (versions.Version, time.Duration, error) {
	v, err := s.open(r)
	if err != nil {
		return versions.Version{}, 0, err
	}
	failed := false
	part, rest, err := s.shared.Read(shareKey(v), func() ([]byte, error) {
		v, p, _ := s.read(r, f)
		failed = p.Problem != nil
		return s.render("main", v, p, "")
	})
	if failed {
		s.shared.Forget(shareKey(v))
	}
	return part, rest, err
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

// browser is the connection to a browser.
type browser struct{ http.ResponseWriter }

// Write writes a text. A browser that does not read it ends the stream.
func (b browser) Write(text []byte) (int, error) {
	control := http.NewResponseController(b.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(15 * time.Second)) // writers of tests have none
	return b.ResponseWriter.Write(text)
}

func (b browser) Flush() error { return http.NewResponseController(b.ResponseWriter).Flush() }

// newStream returns a stream. It is compressed if the browser accepts it: versions of a page are large.
func newStream(w http.ResponseWriter, r *http.Request) *versions.Stream {
	compressed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	if compressed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	return versions.NewStream(browser{w}, compressed)
}
