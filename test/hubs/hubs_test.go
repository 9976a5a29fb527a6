package hubs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// A fleet has the documented states at the documented times, and the hub warns about nothing.
func TestFleet(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.GetAt(t.Context(), c, route.Targets(), route.TargetQuery{Sort: "name"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range p.Targets {
		contact := ""
		if d.Contact > 0 {
			contact = hubs.Now().Sub(time.Unix(0, d.Contact)).String()
		}
		got = append(got, fmt.Sprint(d.Name, d.Standing, d.State, d.Connected, d.Behind, contact))
	}
	want := []string{
		fmt.Sprint("db1", fleet.Pending, document.NotInFleet, false, 0, ""),
		fmt.Sprint("web1", fleet.Active, document.Ready, true, 0, "1m0s"),
		fmt.Sprint("web2", fleet.Active, document.Failed, false, 1, "1m0s"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := h.Close(); err != nil || len(h.Warnings()) > 0 {
		t.Errorf("%v, %q", err, h.Warnings())
	}
}
