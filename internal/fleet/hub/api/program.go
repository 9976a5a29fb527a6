package api

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
)

func (c *call) programs() (any, error) {
	all, err := c.h.Backend.Programs(c.r.Context())
	return document.ProgramPage{Format: document.ProgramPageFormat, Programs: append([]document.Programmed{}, all...)}, err
}

func (c *call) setProgram() (any, error) {
	r := *c.in.(*document.ProgramRequest)
	if err := r.Program.Check(); err != nil {
		return nil, &Refusal{http.StatusBadRequest, err.Error(), "See: fettle hub upgrade --help"}
	}
	if len(r.Select) == 0 {
		return nil, &Refusal{http.StatusBadRequest, "cannot upgrade agents: none is selected", "Start with a few: -t label:canary=yes. For all agents: -t '*'"}
	}
	ids, err := c.active(r.Select, "upgrade")
	if err != nil {
		return nil, err
	}
	err = c.h.Backend.SetProgram(c.r.Context(), c.who, r, ids)
	return done("%d agents will be upgraded to %s.", len(ids), r.Program.Version)(err)
}
