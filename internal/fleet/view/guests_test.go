package view_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// fleetOfGuests is a view with targets that report guests.
type fleetOfGuests struct {
	*testing.T
	v    *view.View
	log  uint64
	seqs map[int]uint64
}

func newFleetOfGuests(t *testing.T, targets ...fleet.Target) *fleetOfGuests {
	w := &fleetOfGuests{T: t, v: open(t, view.Options{Silence: quiet}), seqs: map[int]uint64{}}
	put(t, w.v, targets...)
	return w
}

func machineID(n int) string { return fmt.Sprintf("%032x", n) }

// says appends a report of a target.
func (w *fleetOfGuests) says(target int, p *fleet.Place) {
	w.Helper()
	w.seqs[target]++
	w.log++
	r := fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: w.seqs[target], Boot: "b", At: at(0).UnixNano(),
		Event: fleet.Event{Kind: fleet.Started}, Status: fleet.Status{Place: p}}
	if err := w.v.Append(w.Context(), w.log, [][]byte{record(r)}); err != nil {
		w.Fatal(err)
	}
}

// guest returns a guest whose name and machine have a number.
func guest(n int, s fleet.GuestState) fleet.Guest {
	return fleet.Guest{Name: fmt.Sprint("g", n), State: s, Machine: machineID(n)}
}

func supervisor(guests ...fleet.Guest) *fleet.Place {
	return &fleet.Place{Machine: machineID(99), Guests: guests}
}

func inside(machine int) *fleet.Place {
	return &fleet.Place{Machine: machineID(machine), Container: "systemd-nspawn"}
}

// shows compares the guests and the supervisor of a target: "g1 running t1 unassigned, in t0 as g1 running".
func (w *fleetOfGuests) shows(target int, want string, of ...fleet.Organization) {
	w.Helper()
	w.showsAt(target, want, at(1), of...)
}

func (w *fleetOfGuests) showsAt(target int, want string, now time.Time, of ...fleet.Organization) {
	w.Helper()
	ctx := w.Context()
	if len(of) > 0 {
		ctx = fleet.WithOrganization(ctx, of[0])
	}
	d, err := w.v.Target(ctx, fmt.Sprint("t", target), now)
	if err != nil {
		w.Fatal(err)
	}
	var parts []string
	for _, g := range d.Guests {
		text := g.Name + " " + string(g.State)
		if g.Target != nil {
			text += " " + g.Target.Name + " " + string(g.Target.State)
		}
		if g.Conflict {
			text += " conflict"
		}
		parts = append(parts, text)
	}
	if d.MoreGuests > 0 {
		parts = append(parts, fmt.Sprint(d.MoreGuests, " more"))
	}
	if s := d.Supervisor; s != nil {
		parts = append(parts, fmt.Sprintf("in %s as %s %s", s.Name, s.Guest, s.GuestState))
	}
	if got := strings.Join(parts, ", "); got != want {
		w.Errorf("t%d: %q, want %q", target, got, want)
	}
}

func (w *fleetOfGuests) lists(supervisor, want string, of ...fleet.Organization) {
	w.Helper()
	ctx := w.Context()
	if len(of) > 0 {
		ctx = fleet.WithOrganization(ctx, of[0])
	}
	page, err := w.v.Targets(ctx, view.TargetQuery{Supervisor: supervisor, Now: at(1)})
	var names []string
	for _, t := range page.Targets {
		names = append(names, t.Name)
	}
	if err != nil || strings.Join(names, " ") != want {
		w.Errorf("%s: %q, %v", supervisor, names, err)
	}
}

// A guest belongs to the supervisor that reports the machine which the guest reports. The newest report counts.
func TestGuestsOfSupervisor(t *testing.T) {
	w := newFleetOfGuests(t, member(0), member(1), member(2), member(3))
	w.shows(0, "")
	w.lists("t0", "")
	w.says(0, supervisor(guest(1, fleet.GuestRunning), guest(2, fleet.GuestStopped), guest(7, fleet.GuestMissing)))
	w.shows(0, "g1 running, g2 stopped, g7 missing")
	w.says(1, inside(1))
	w.says(2, inside(2))
	w.says(3, inside(3))
	w.shows(0, "g1 running t1 unassigned, g2 stopped t2 unassigned, g7 missing")
	w.shows(1, "in t0 as g1 running")
	w.shows(2, "in t0 as g2 stopped")
	w.shows(3, "")
	w.lists("t0", "t1 t2")
	w.lists(string(id(0)), "t1 t2")
	w.lists("t1", "")
	if _, err := w.v.Targets(t.Context(), view.TargetQuery{Supervisor: "other", Now: at(1)}); !errors.Is(err,
		fleet.ErrNotFound) {
		t.Error(err)
	}
	retired := member(2)
	retired.Standing = fleet.Retired
	put(t, w.v, retired)
	if err := w.v.Prune(t.Context(), at(1)); err != nil {
		t.Fatal(err)
	}
	w.says(0, &fleet.Place{Guests: []fleet.Guest{guest(1, fleet.GuestStopped), guest(2, fleet.GuestStopped)}, More: 3})
	w.shows(0, "g1 stopped t1 unassigned, g2 stopped, 3 more")
	w.shows(1, "in t0 as g1 stopped")
	w.says(0, nil) // an older agent
	w.shows(0, "")
	w.shows(1, "")
}

// The states of the guests of an unresponsive supervisor are unknown.
func TestGuestsOfUnresponsiveSupervisor(t *testing.T) {
	w := newFleetOfGuests(t, member(0), member(1))
	w.says(0, supervisor(guest(1, fleet.GuestRunning)))
	w.says(1, inside(1))
	late := at(1).Add(2 * quiet)
	w.showsAt(0, "g1 unknown t1 unresponsive", late)
	w.v.RecordContact(id(1), late)
	w.showsAt(1, "in t0 as g1 unknown", late)
	w.v.RecordContact(id(0), late)
	w.showsAt(0, "g1 running t1 unassigned", late)
	cloned := member(0)
	cloned.Suspect = &fleet.Suspicion{Reason: "b", Copies: make([]fleet.Copy, 2)}
	put(t, w.v, cloned)
	w.shows(1, "in t0 as g1 unknown")
}

// One report of a compromised host relates no target to another one: a supervisor cannot claim a target that is not a
// container or that reports another machine, and a target cannot claim a supervisor. Contradictory reports relate none.
func TestClaimsOfGuests(t *testing.T) {
	w := newFleetOfGuests(t, member(0), member(1), member(2), member(3))
	bare := inside(1)
	bare.Container, bare.More = "", 1
	w.says(0, supervisor(guest(1, fleet.GuestRunning)))
	w.says(1, bare)
	w.shows(0, "g1 running")
	w.shows(1, "1 more")
	w.says(1, inside(1))
	w.shows(1, "in t0 as g1 running")

	w.says(2, inside(1)) // the clone of a guest, or a host that claims to be one
	w.shows(0, "g1 running conflict")
	w.shows(1, "")
	w.shows(2, "")
	w.lists("t0", "")
	w.says(2, inside(2))
	w.shows(1, "in t0 as g1 running")

	w.says(3, supervisor(guest(1, fleet.GuestRunning))) // another supervisor claims it
	w.shows(0, "g1 running conflict")
	w.shows(3, "g1 running conflict")
	w.shows(1, "")
	w.says(3, supervisor())
	twice := guest(1, fleet.GuestStopped)
	twice.Name = "copy"
	w.says(0, supervisor(guest(1, fleet.GuestRunning), twice))
	w.shows(0, "copy stopped conflict, g1 running conflict")
	w.shows(1, "")

	unknown := guest(1, fleet.GuestRunning)
	unknown.Machine = ""
	w.says(0, supervisor(unknown))
	w.says(1, &fleet.Place{Container: "systemd-nspawn"})
	w.shows(0, "g1 running")
	w.shows(1, "")

	itself := supervisor(guest(1, fleet.GuestRunning))
	itself.Machine, itself.Container = machineID(1), "systemd-nspawn"
	w.says(0, itself)
	w.shows(0, "g1 running")
}

// A supervisor relates only to targets of its organization and of organizations in it. A guest of a supervisor outside
// of the organization of a user has no supervisor for this user.
func TestGuestsOfOrganizations(t *testing.T) {
	of := func(n int, o fleet.Organization) fleet.Target {
		m := member(n)
		m.Organization = o
		return m
	}
	w := newFleetOfGuests(t, of(0, ""), of(1, "acme"), of(2, "globex"), of(3, "acme"))
	w.says(0, supervisor(guest(1, fleet.GuestRunning)))
	w.says(1, inside(1))
	w.shows(0, "g1 running t1 unassigned")
	w.shows(1, "in t0 as g1 running")
	w.shows(1, "", "acme")

	w.says(2, supervisor(guest(1, fleet.GuestRunning))) // another organization can neither claim it nor hide it
	w.shows(2, "g1 running", "globex")
	w.lists("t2", "", "globex")
	w.shows(1, "in t0 as g1 running")
	w.says(2, inside(1)) // a container of another organization: only supervisors of the whole fleet see a conflict
	w.shows(0, "g1 running conflict")

	w.says(2, nil)
	w.says(0, nil)
	w.says(3, supervisor(guest(1, fleet.GuestRunning)))
	w.shows(1, "in t3 as g1 running", "acme")
	w.lists("t3", "t1", "acme")
	put(t, w.v, of(1, "globex"))
	w.shows(1, "", "globex")
	w.shows(3, "g1 running", "acme")
}

// TestRelated: the supervisors and the targets in guests of a target, at all depths, and only if both report it.
func TestRelated(t *testing.T) {
	w := newFleetOfGuests(t, member(0), member(1), member(2), member(3), member(4))
	nested := inside(1)
	nested.Guests = []fleet.Guest{guest(3, fleet.GuestRunning)}
	w.says(0, supervisor(guest(1, fleet.GuestRunning), guest(2, fleet.GuestStopped), guest(4, fleet.GuestRunning)))
	w.says(1, nested)
	w.says(2, inside(2))
	w.says(3, inside(3))
	for i, want := range []string{"t1 t2 t3", "t0 t3", "t0", "t0 t1", ""} {
		ids, err := view.Related(t.Context(), w.v, id(i))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for n := range 5 {
			if slices.Contains(ids, id(n)) {
				names = append(names, fmt.Sprint("t", n))
			}
		}
		if got := strings.Join(names, " "); got != want || len(ids) != len(names) {
			t.Errorf("t%d is related to %q, want %q", i, got, want)
		}
	}
	if ids, err := view.Related(t.Context(), w.v, id(77)); ids != nil || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
}
