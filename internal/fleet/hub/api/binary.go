package api

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
)

func (c *call) binaries() (any, error) {
	all, err := c.h.Backend.Binaries(c.r.Context())
	return document.BinaryPage{Format: document.BinaryPageFormat, Binaries: append([]document.BinarySetting{}, all...)}, err
}

func (c *call) setBinary() (any, error) {
	r := *c.in.(*document.BinaryRequest)
	if err := r.Binary.Check(); err != nil {
		return nil, &Refusal{http.StatusBadRequest, err.Error(), "See: fettle agent upgrade --help"}
	}
	if len(r.Select) == 0 {
		return nil, &Refusal{http.StatusBadRequest, "cannot upgrade agents: none is selected", "Start with a few: -t label:canary=yes. For all agents: -t '*'"}
	}
	ids, err := c.active(r.Select, "upgrade")
	if err != nil {
		return nil, err
	}
	err = c.h.Backend.SetBinary(c.r.Context(), c.who, r, ids)
	return done("%d agents will be upgraded to %s.", len(ids), r.Binary.Version)(err)
}
