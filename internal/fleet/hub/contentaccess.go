package hub

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// mayRead tells which content a target may have: what it is assigned.
func (h *Hub) mayRead(r *http.Request) (client string, may func(digest string) bool) {
	trust, err := h.trust()
	if err != nil || r.TLS == nil {
		return "", nil
	}
	p, err := trust.PeerOf(r.TLS, h.now(), pki.TargetKind, pki.HubKind)
	if err != nil {
		return "", nil
	}
	if p.Name.Kind == pki.HubKind {
		// Hubs give each other everything.
		return p.Name.String(), func(string) bool { return h.isMember(p.Name.ID) }
	}
	if _, err := h.trusted(r.Context(), fleet.TargetID(p.Name.ID)); err != nil {
		return "", nil
	}
	return p.Name.ID, func(digest string) bool { return h.isAssigned(fleet.TargetID(p.Name.ID), digest) }
}

// isAssigned tells whether a target may have content: its assignment names it.
func (h *Hub) isAssigned(id fleet.TargetID, digest string) bool {
	g, _, _ := h.assignments.get(string(id))
	return names(g.assignment, digest)
}

// onContent gives small content to an agent, over the connection that it has. What it may not
// have does not exist for it.
func (h *Hub) onContent(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := h.trusted(ctx, from); err != nil {
		return nil, err
	}
	digest := string(body)
	if err := fleet.CheckDigest(digest); err != nil {
		return nil, err
	}
	if !h.isAssigned(from, digest) {
		return nil, fmt.Errorf("%w: there is no such content", fleet.ErrNotFound)
	}
	return h.giver.Answer(digest)
}

// names tells whether an assignment names content by a digest.
func names(a fleet.Assignment, digest string) bool {
	named := func(m *fleet.Assigned) bool {
		return m.Bundle.Digest == digest || m.Proof != nil && m.Proof.Digest == digest
	}
	if named(&a.Top) {
		return true
	}
	for i := range a.Modules {
		if named(&a.Modules[i]) {
			return true
		}
	}
	if a.Binary != nil {
		for _, f := range a.Binary.Files {
			if f.Digest == digest {
				return true
			}
		}
	}
	return false
}

// partsOf are the top and the modules.
func partsOf(a fleet.Assignment) []fleet.Assigned {
	return append([]fleet.Assigned{a.Top}, a.Modules...)
}
