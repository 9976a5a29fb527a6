package api

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
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
		return nil, &Refusal{http.StatusBadRequest, "cannot upgrade agents when none is selected", "Begin with some: -t label:canary=yes. All are: -t '*'"}
	}
	page, err := c.h.Backend.Targets(c.r.Context(), view.TargetQuery{Select: r.Select, Now: c.h.Now()})
	if err != nil {
		return nil, err
	}
	var ids []fleet.TargetID
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil, &Refusal{http.StatusConflict, "cannot upgrade any of these: none is active", "See their standing: fettle target list"}
	}
	err = c.h.Backend.SetProgram(c.r.Context(), c.who, r, ids)
	return done("%d agents are to be %s.", len(ids), r.Program.Version)(err)
}
