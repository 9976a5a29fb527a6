package hub

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// mayRead returns the client of a request and a function that reports which content it may read. A
// target may read the content of its assignment. For other clients, may is nil.
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
		// A hub may read all content.
		return p.Name.String(), func(string) bool { return h.members.IsMember(p.Name.ID) }
	}
	if _, err := h.targets.Trusted(r.Context(), fleet.TargetID(p.Name.ID)); err != nil {
		return "", nil
	}
	return p.Name.ID, func(digest string) bool { return h.isAssigned(fleet.TargetID(p.Name.ID), digest) }
}

// isAssigned reports whether the assignment of a target contains a digest.
func (h *Hub) isAssigned(id fleet.TargetID, digest string) bool {
	g, _, _ := h.records.Assignments.Get(string(id))
	return names(g.Assignment, digest)
}

// onContent answers with small content over the agent connection. For content outside of its
// assignment, a target gets the same error as for missing content.
func (h *Hub) onContent(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := h.targets.Trusted(ctx, from); err != nil {
		return nil, err
	}
	digest := string(body)
	if err := fleet.CheckDigest(digest); err != nil {
		return nil, err
	}
	if !h.isAssigned(from, digest) {
		return nil, fmt.Errorf("%w: the content does not exist, or is not in the assignment of this target", fleet.ErrNotFound)
	}
	return h.giver.Answer(digest)
}

// names reports whether an assignment contains a digest.
func names(a fleet.Assignment, digest string) bool {
	named := func(m *fleet.Assigned) bool {
		return m.Bundle.Digest == digest || m.Proof != nil && m.Proof.Digest == digest
	}
	if named(&a.Root) {
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

// partsOf returns the root bundle and the modules of an assignment.
func partsOf(a fleet.Assignment) []fleet.Assigned {
	return append([]fleet.Assigned{a.Root}, a.Modules...)
}
