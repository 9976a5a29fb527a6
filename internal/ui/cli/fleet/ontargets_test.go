package fleet

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestPartsOfTheWholeFleet: users of an organization get nothing from a route of the whole fleet. Other errors stay.
func TestPartsOfTheWholeFleet(t *testing.T) {
	hub, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	get := func(token string) (document.Health, error) {
		return wholeFleet(t.Context(), client.Inside(hub.Handler(), token, r), route.Health(), route.None{})
	}
	if h, err := get("read"); err != nil || h.Format != document.HealthFormat {
		t.Errorf("an operator of the fleet: %+v, %v", h, err)
	}
	if h, err := get("read@acme"); err != nil || h.Format != "" {
		t.Errorf("a user of an organization: %+v, %v", h, err)
	}
	var p *document.Problem
	if _, err := get("unknown"); !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		t.Errorf("another user: %v", err)
	}
}
