package hub

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet/hub/repository"
	"fettle.dev/fettle/internal/fleet/pki"
)

// introduce stores the signing certificate of this hub for the other hubs. If the fleet follows no
// repository, it also stores the repository of the settings of this hub.
func introduce(ctx context.Context, c *core, r *repository.Follower) error {
	own, err := c.keys.Signer()
	if err != nil {
		return err
	}
	if _, err := c.records.Buckets["settings"].Put(ctx, "signer/"+c.set.Name, pki.EncodeCertificates(own)); err != nil {
		return fmt.Errorf("cannot store the signing certificate of this hub for the other hubs: %w", err)
	}
	return r.Begin(ctx)
}
