package gates

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// Programs asks Prometheus and webhooks. It is safe for concurrent use.
type Programs struct {
	Secrets Secrets
	// Name returns the name of a target, or "".
	Name func(rollout.ID) string
}

// timeout limits a question.
const timeout = 10 * time.Second

// Ask asks one gate, which is not an approval gate. why is the evidence.
func (p Programs) Ask(ctx context.Context, d rollout.Due) (v rollout.Verdict, why string) {
	ctx, end := context.WithTimeout(ctx, timeout)
	defer end()
	switch d.Gate.Type {
	case rollout.MetricGate:
		return askPrometheus(ctx, p.Secrets, d.Gate)
	case rollout.CompareGate:
		return askComparison(ctx, p.Secrets, d, p.Name)
	}
	return askWebhook(ctx, p.Secrets, d)
}
