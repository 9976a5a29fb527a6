package web

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
)

// open returns the visit of a request.
func (s *Site) open(r *http.Request) (*visit, error) {
	v := &visit{Request: r, now: s.Now(), asks: &s.asks}
	var err error
	if v.client, err = s.Client(r); err != nil {
		return v, err
	}
	v.user, err = client.Get(r.Context(), v.client, route.WhoAmI())
	return v, err
}

// read reads a page. An error becomes a page that describes it.
func (s *Site) read(r *http.Request, f pageFunc) (*visit, *page, int) {
	v, err := s.open(r)
	var p *page
	if err == nil {
		p, err = f(v)
	}
	if err == nil {
		return v, p, http.StatusOK
	}
	problem := problemOf(err)
	return v, &page{Title: problem.Title, Template: "problem", Problem: problem}, problem.Status
}
