package contents

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// mayReadHistory returns the target that requests a history. A target may read the history of
// commits that are assigned to it.
func (c *Contents) mayReadHistory(r *http.Request) (client string, may func(commit string) bool) {
	trust, err := c.Trust()
	if err != nil || r.TLS == nil {
		return "", nil
	}
	p, err := trust.PeerOf(r.TLS, c.Now(), pki.TargetKind)
	if err != nil {
		return "", nil
	}
	id := fleet.TargetID(p.Name.ID)
	if _, err := c.Trusted(r.Context(), id); err != nil {
		return "", nil
	}
	return string(id), func(commit string) bool {
		g, _, _ := c.Records.Assignments.Get(string(id))
		for _, part := range partsOf(g.Assignment) {
			if part.Revision.Commit == commit {
				return true
			}
		}
		return false
	}
}
