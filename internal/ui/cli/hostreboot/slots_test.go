package hostreboot

import (
	"context"
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
}

func (l *countingLink) Ask(context.Context, string, []byte) ([]byte, error) {
	l.asked++
	return []byte("{}"), nil
}

// TestSlotOfRunAfterReboot: a reboot does not release a slot that a run needs too.
func TestSlotOfRunAfterReboot(t *testing.T) {
	files := mem.New(mem.Options{})
	if err := smallfile.Write(files, "/slots.json", []byte(`[{"lock":"a","token":1}]`)); err != nil {
		t.Fatal(err)
	}
	runs := &slots.Keeper{State: files, File: "/slots.json"}
	for r, want := range map[fleet.RebootRequest]int{
		{Action: fleet.RebootRelease, Lock: "a"}: 0,
		{Action: fleet.RebootRelease, Lock: "b"}: 1,
		{Action: fleet.RebootAcquire, Lock: "a"}: 1,
	} {
		link := &countingLink{}
		if _, err := askReboot(t.Context(), link, runs, r); err != nil || link.asked != want {
			t.Errorf("%+v: %d requests, want %d: %v", r, link.asked, want, err)
		}
	}
}
