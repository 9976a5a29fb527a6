package slots

import (
	"context"
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/fleet"
)

// Describe answers a slots.Question with a slots.Description of each lock. It acquires nothing. It is safe for
// concurrent use.
func (k *Keeper) Describe(ctx context.Context, question []byte) ([]byte, error) {
	var q slots.Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("cannot read the question about locks: %w", err)
	}
	if len(q.Names) > maxNames {
		return nil, fmt.Errorf("cannot describe %d locks: the maximum is %d", len(q.Names), maxNames)
	}
	out := []slots.Description{}
	for _, name := range q.Names {
		d := slots.Description{Name: name}
		a, err := k.Ask(ctx, fleet.SlotRequest{Action: fleet.SlotObserve, Lock: name})
		if d.Free, d.Why = a.Free, a.Why; err != nil {
			d.Error = err.Error()
		}
		out = append(out, d)
	}
	return json.Marshal(out)
}
