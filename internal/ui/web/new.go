package web

import (
	"cmp"
	"net/http"
	"time"
)

// New returns a Site.
func New(c Config) *Site {
	s := &Site{Config: c, mux: http.NewServeMux(), shared: newSharedPages()}
	s.Refresh = cmp.Or(s.Refresh, 3*time.Second)
	if s.Now == nil {
		s.Now = time.Now
	}
	for path, read := range pages() {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, read) })
	}
	for path, read := range hostPages() {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, still(read)) })
	}
	for path, do := range changes() {
		s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.change(w, r, do) })
	}
	s.mux.HandleFunc("GET /assets/{digest}/{file}", serveAsset)
	s.mux.HandleFunc("GET /live", s.live)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, noPage) })
	s.handler = http.NewCrossOriginProtection().Handler(secured(s.mux))
	return s
}
