package hub

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestViolations: repeated violations of an agent cause one event per hour, independently of other
// targets.
func TestViolations(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	var got []fleet.HubEvent
	report := violations(func() time.Time { return now }, func(e fleet.HubEvent) { got = append(got, e) })
	for range 3600 {
		report("a", "it violated the protocol")
		now = now.Add(time.Second)
	}
	report("b", "it requested more than it reads")
	if len(got) != 2 || got[0].Target != "a" || got[1].Target != "b" || got[0].Kind != fleet.ProtocolViolated ||
		got[0].Error != "it violated the protocol; reported at most once in 1h0m0s" {
		t.Errorf("the events are %+v", got)
	}
	if report("a", "again"); len(got) != 3 {
		t.Errorf("after an hour there are %d events", len(got))
	}
}
