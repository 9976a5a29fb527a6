package api

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Binaries are the settings for the binaries of agents.
type Binaries interface {
	// SetBinary sets the binary of the agents of targets, and of targets that the selection in the
	// request matches later.
	SetBinary(ctx context.Context, by access.Principal, r document.BinaryRequest, targets []fleet.TargetID) error
}

// HandleBinaries registers the handler that sets the binaries of agents.
func HandleBinaries(t *Table, b Binaries) {
	HandlePost(t, route.SetBinary(),
		func(ctx context.Context, c Caller, r document.BinaryRequest) (document.Done, error) {
			if err := checkBinary(r); err != nil {
				return document.Done{}, err
			}
			ids, err := t.active(ctx, c, r.Select, "upgrade")
			if err != nil {
				return document.Done{}, err
			}
			return Done(b.SetBinary(ctx, c.Principal, r, ids), "%d agents will be upgraded to %s.", len(ids), r.Binary.Version)
		})
}

func checkBinary(r document.BinaryRequest) error {
	if err := r.Binary.Check(); err != nil {
		return &Refusal{http.StatusBadRequest, err.Error(), "See: fettle agent upgrade --help"}
	}
	if len(r.Select) == 0 {
		return &Refusal{http.StatusBadRequest, "cannot upgrade agents: none is selected",
			"Start with a few: -t label:canary=yes. For all agents: -t '*'"}
	}
	return nil
}
