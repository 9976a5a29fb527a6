package probe

import (
	"context"
	"errors"
)

// Fleet sends a request to the hubs of the fleet, through the agent of the host.
func (n Net) Fleet(ctx context.Context, request []byte) ([]byte, error) {
	if n.Hubs == nil {
		return nil, errors.New("this host is not in a fleet, so no hub can answer")
	}
	return n.Hubs(ctx, request)
}
