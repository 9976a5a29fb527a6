package hostreboot

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/slots"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host/mem"
)

// countingLink counts requests.
type countingLink struct {
	fleet.Link
	asked int
	last  string
}

func (l *countingLink) Ask(_ context.Context, _ string, body []byte) ([]byte, error) {
	l.asked++
	l.last = string(body)
	return []byte("{}"), nil
}

// TestSlotOfRunAfterReboot: a reboot does not release a slot that a run needs too.
func TestSlotOfRunAfterReboot(t *testing.T) {
	files := mem.New(mem.Options{})
	if err := smallfile.Write(files, "/slots.json", []byte(`[{"lock":"a","token":1}]`)); err != nil {
		t.Fatal(err)
	}
	runs := &slots.Keeper{State: files, File: "/slots.json", Order: func() uint64 { return 7 }}
	for r, want := range map[fleet.RebootRequest]int{
		{Action: fleet.RebootRelease, Lock: "a"}: 0,
		{Action: fleet.RebootRelease, Lock: "b"}: 1,
		{Action: fleet.RebootAcquire, Lock: "a"}: 1,
	} {
		link := &countingLink{}
		if _, err := askReboot(t.Context(), link, runs, r); err != nil || link.asked != want {
			t.Errorf("%+v: %d requests, want %d: %v", r, link.asked, want, err)
		}
		if want > 0 && !strings.Contains(link.last, `"order":7`) {
			t.Errorf("a request without an order: %s", link.last)
		}
	}
}

// TestOrderOfWaits: requests about barriers have an order, and a hub refuses a request that the agent cannot read.
func TestOrderOfWaits(t *testing.T) {
	runs := &slots.Keeper{Order: func() uint64 { return 7 }}
	for request, want := range map[string]string{
		`{"action":"arrive","name":"a","run":"r","order":3}`: `{"action":"arrive","name":"a","run":"r","order":7}`,
		`{"action":"steal"}`: `{"action":"steal"}`,
	} {
		link := &countingLink{}
		if _, err := askWait(t.Context(), link, runs, []byte(request)); err != nil || link.last != want {
			t.Errorf("%s: %s, want %s: %v", request, link.last, want, err)
		}
	}
}
