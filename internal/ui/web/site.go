package web

import (
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/web/versions"
)

// Config contains what a Site needs. Client must be set.
type Config struct {
	// Client returns the client with the credentials of a request. An error is shown as a page.
	Client func(*http.Request) (*client.Client, error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Changed returns a channel that is closed when the fleet may have changed; nil means that pages are read again
	// every Refresh.
	Changed func() <-chan struct{}
	// Refresh is the time between two looks at a page that is open; 0 means 3 seconds.
	Refresh time.Duration
	// SignOut is the path of a form that ends the session; "" means that there is none.
	SignOut string
	// Unauthenticated answers requests for pages that the hub does not authenticate; nil means that a page describes
	// the problem.
	Unauthenticated http.HandlerFunc
	// Host is the machine of pages without a hub; nil means that the pages show a fleet.
	Host *Host
}

// Site serves the pages of a fleet. It is safe for concurrent use.
type Site struct {
	Config
	mux     *http.ServeMux
	pages   map[string]pageFunc // that update themselves, by their pattern
	handler http.Handler
	shared  *versions.Shared
	asks    asks
	runs    *hostRuns
}

// ServeHTTP answers with a page, a part of it, or a file.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// secured sets the headers that limit what a browser does with an answer.
func secured(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// maxForm is the largest form in bytes.
const maxForm = 64 << 10
