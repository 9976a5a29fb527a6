package hub

import (
	"errors"
	"net/http"
	"testing"

	"fettle.dev/fettle/internal/fleet/hub/api"
)

// A token for another fleet would enrol targets in this one, against the intention.
func TestTokenForAnotherFleet(t *testing.T) {
	h := &Hub{set: Settings{Fleet: "acme"}}
	for name, ok := range map[string]bool{"": true, "acme": true, "prod": false, "Acme": false} {
		err := h.checkFleet(name)
		var refused *api.Refusal
		if (err == nil) != ok || err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Hint == "") {
			t.Errorf("the fleet %q: %v", name, err)
		}
	}
}
