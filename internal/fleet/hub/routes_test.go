package hub

import "testing"

// TestEachRouteHasAHandler: the hub answers each route of the API.
func TestEachRouteHasAHandler(t *testing.T) {
	if err := apiTable(new(Hub)).Complete(); err != nil {
		t.Error(err)
	}
}
