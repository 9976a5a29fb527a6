package hub

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/hub/members"
)

// TestEachRouteHasAHandler: the hub answers each route of the API.
func TestEachRouteHasAHandler(t *testing.T) {
	h := &Hub{}
	h.members = &members.HubSet{} // its handlers belong to parts of it
	if err := apiTable(h).Complete(); err != nil {
		t.Error(err)
	}
}
