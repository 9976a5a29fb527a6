package hubs_test

import (
	"fmt"
	"slices"
	"strings"
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
	// The clock of the hub stands still, so on a busy machine it seems to jump.
	err = h.Close()
	jump := func(w string) bool { return strings.Contains(w, "clock of this hub jumped") }
	warnings := slices.DeleteFunc(h.Warnings(), jump)
	if err != nil || len(warnings) > 0 {
		t.Errorf("%v, %q", err, warnings)
	}
}

// A job that an agent begins before it disconnects, and answers afterwards, has no effect.
func TestDisconnectDuringJob(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	begun, disconnected, answered := make(chan bool), make(chan bool), make(chan bool)
	h.Web2.Job = func(fleet.Job) fleet.JobAnswer {
		close(begun)
		<-disconnected
		defer close(answered)
		return fleet.JobAnswer{}
	}
	if err := h.Web2.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := document.JobRequest{Select: []string{"web2"}, What: fleet.JobRun, Run: &fleet.Command{Argv: []string{"true"}}}
	if _, err := client.Post(t.Context(), h.Root, route.CreateJob(), job); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := h.Web2.Disconnect(); err != nil {
		t.Fatal(err)
	}
	close(disconnected)
	<-answered
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
