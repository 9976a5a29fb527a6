package hub

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/pki"
)

// newHistories returns the server of histories of assigned commits. Each hub reads them from the
// repository itself, because agents connect to any hub.
func (h *Hub) newHistories() *content.Histories {
	return &content.Histories{
		Dir: h.dir("mirror"), Client: h.mayReadHistory, Now: h.now, Warn: h.warn, Read: h.edge.history,
		Source: func() content.Source {
			r := h.repository()
			return content.Source{Name: r.Name, URL: r.URL, Access: r.Access()}
		},
	}
}

// mayReadHistory returns the target that requests a history. A target may read the history of
// commits that are assigned to it.
func (h *Hub) mayReadHistory(r *http.Request) (client string, may func(commit string) bool) {
	trust, err := h.trust()
	if err != nil || r.TLS == nil {
		return "", nil
	}
	p, err := trust.PeerOf(r.TLS, h.now(), pki.TargetKind)
	if err != nil {
		return "", nil
	}
	id := fleet.TargetID(p.Name.ID)
	if _, err := h.targets.Trusted(r.Context(), id); err != nil {
		return "", nil
	}
	return string(id), func(commit string) bool {
		g, _, _ := h.records.Assignments.Get(string(id))
		for _, part := range partsOf(g.Assignment) {
			if part.Revision.Commit == commit {
				return true
			}
		}
		return false
	}
}
