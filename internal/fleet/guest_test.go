package fleet_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// A compromised host can report anything: only valid guests within the limit count.
func TestValidPlace(t *testing.T) {
	id := strings.Repeat("a1", 16)
	guest := func(name string, s fleet.GuestState, machine string) fleet.Guest {
		return fleet.Guest{Name: name, State: s, Machine: machine}
	}
	p := &fleet.Place{Machine: "x", Container: "<b>", More: -3, Guests: []fleet.Guest{
		guest("web", fleet.GuestRunning, id), guest("db", fleet.GuestStopped, strings.ToUpper(id)),
		guest("web", fleet.GuestStopped, id), guest("../etc", fleet.GuestRunning, id), guest("", fleet.GuestRunning, id),
		guest("odd", "excellent", id), guest("lost", fleet.GuestUnknown, id)}}
	want := fleet.Place{Guests: []fleet.Guest{guest("db", fleet.GuestStopped, ""), guest("web", fleet.GuestRunning, id)}}
	if got := p.Valid(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	p = &fleet.Place{Machine: id, Container: "systemd-nspawn", More: 7}
	if got := p.Valid(); !got.Equal(p) {
		t.Errorf("%+v", got)
	}
	for i := range 2 * fleet.MaxGuests {
		p.Guests = append(p.Guests, guest(fmt.Sprint("g", i), fleet.GuestRunning, ""))
	}
	if got := p.Valid(); len(got.Guests) != fleet.MaxGuests {
		t.Error(len(got.Guests))
	}
	p = nil
	if got := p.Valid(); !reflect.DeepEqual(got, fleet.Place{}) {
		t.Errorf("%+v", got)
	}
}

func TestGuestChanges(t *testing.T) {
	place := func(guests ...fleet.Guest) *fleet.Place { return &fleet.Place{Guests: guests} }
	web := fleet.Guest{Name: "web", State: fleet.GuestRunning}
	db := fleet.Guest{Name: "db", State: fleet.GuestRunning}
	off := fleet.Guest{Name: "web", State: fleet.GuestStopped}
	other := fleet.Guest{Name: "web", State: fleet.GuestRunning, Machine: strings.Repeat("a1", 16)}
	for _, c := range []struct {
		was, is *fleet.Place
		text    string
	}{
		{place(), place(db, web), "guests: db is running, web is running"},
		{place(db, web), place(off), "guests: web is stopped, db no longer exists"},
		{place(web), place(other), "the identity of a guest or of the host changed"},
		{nil, place(web), "the guests of the host are unknown, or known again"},
	} {
		if got := fleet.GuestChanges(c.was, c.is); got != c.text || c.was.Equal(c.is) || !c.is.Equal(c.is) {
			t.Errorf("%q, want %q", got, c.text)
		}
	}
	var many []fleet.Guest
	for i := range 30 {
		many = append(many, fleet.Guest{Name: fmt.Sprintf("g%02d", i), State: fleet.GuestRunning})
	}
	if got := fleet.GuestChanges(place(), place(many...)); !strings.HasSuffix(got, "g09 is running, 20 more changes") {
		t.Error(got)
	}
}
