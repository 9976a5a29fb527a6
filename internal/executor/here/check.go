package here

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/check"
)

// Check tests the condition of a step CHECK on a machine once, within a time limit. It takes no lock and is not
// recorded.
func Check(ctx context.Context, m Machine, s step.Step, limit time.Duration) error {
	h, err := Root(m.Root)
	if err != nil {
		return err
	}
	defer h.Close()
	return check.Once(ctx, h, probe.Net{Limit: limit}, s)
}
