package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// askPolicyKey is the one policy of a fleet for what agents ask for.
const askPolicyKey = "fleet"

// AskPolicy is what becomes of what agents ask for, at all hubs alike.
func (h *Hub) AskPolicy(context.Context) (fleet.AskPolicy, error) {
	p, _, _ := h.askPolicies.get(askPolicyKey)
	return p, nil
}

// beginAskPolicy gives a fleet that has no policy the one that stands in the settings of this
// hub: of its first hub, as it is the first to come here. From then on the settings of hubs
// say nothing any more, so that no two of them answer differently.
func (h *Hub) beginAskPolicy(ctx context.Context) error {
	if _, _, there := h.askPolicies.get(askPolicyKey); there {
		return nil
	}
	p := fleet.AskPolicy{Answers: h.set.Asks, By: "hub " + h.set.Name, Changed: h.now().UnixNano()}
	if err := h.askPolicies.put(ctx, askPolicyKey, p, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot keep what becomes of what agents ask for: %w", err)
	}
	return nil
}

// SetAskPolicy changes one answer, at all hubs.
func (h *Hub) SetAskPolicy(ctx context.Context, by access.Who, r document.AskPolicyRequest) error {
	if err := fleet.CheckAnswers(map[fleet.AskKind]fleet.Verdict{r.What: r.Answer}); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "See: fettle ask policy set --help"}
	}
	if err := h.record(ctx, fleet.HubEvent{Kind: fleet.Ruled, By: by.Name, Text: fmt.Sprintf("asks for %s: %s", r.What, r.Answer)}); err != nil {
		return err
	}
	_, err := h.askPolicies.change(ctx, askPolicyKey, func(p *fleet.AskPolicy) error {
		answers := map[fleet.AskKind]fleet.Verdict{r.What: r.Answer}
		for what, v := range p.Answers {
			if what != r.What {
				answers[what] = v
			}
		}
		p.Answers, p.By, p.Changed = answers, by.Name, h.now().UnixNano()
		return nil
	})
	return err
}

// parseAskPolicy reads one. A newer hub may know more kinds; they are none of this one's.
func parseAskPolicy(b []byte) (p fleet.AskPolicy, err error) { return p, json.Unmarshal(b, &p) }
