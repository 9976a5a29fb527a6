package contents

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// mayRead returns the client of a request and a function that reports which content it may read. A
// target may read the content of its assignment. For other clients, may is nil.
func (c *Contents) mayRead(r *http.Request) (client string, may func(digest string) bool) {
	trust, err := c.Trust()
	if err != nil || r.TLS == nil {
		return "", nil
	}
	p, err := trust.PeerOf(r.TLS, c.Now(), pki.TargetKind, pki.HubKind)
	if err != nil {
		return "", nil
	}
	if p.Name.Kind == pki.HubKind {
		// A hub may read all content.
		return p.Name.String(), func(string) bool { return c.IsMember(p.Name.ID) }
	}
	if _, err := c.Trusted(r.Context(), fleet.TargetID(p.Name.ID)); err != nil {
		return "", nil
	}
	return p.Name.ID, func(digest string) bool { return c.isAssigned(fleet.TargetID(p.Name.ID), digest) }
}

// isAssigned reports whether the assignment of a target contains a digest.
func (c *Contents) isAssigned(id fleet.TargetID, digest string) bool {
	g, _, _ := c.Records.Assignments.Get(string(id))
	return names(g.Assignment, digest)
}

// OnContent answers with small content over the agent connection. For content outside of its
// assignment, a target gets the same error as for missing content.
func (c *Contents) OnContent(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := c.Trusted(ctx, from); err != nil {
		return nil, err
	}
	digest := string(body)
	if err := fleet.CheckDigest(digest); err != nil {
		return nil, err
	}
	if !c.isAssigned(from, digest) {
		return nil, fmt.Errorf("%w: the content does not exist, or is not in the assignment of this target",
			fleet.ErrNotFound)
	}
	return c.Server.Answer(digest)
}
