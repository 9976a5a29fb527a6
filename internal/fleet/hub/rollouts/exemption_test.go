package rollouts

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

func (d *desk) exemptions() Exemptions {
	return Exemptions{Now: d.time, Records: d.table, Events: d.recorder()}
}

// request requests an exemption of all targets for a minute.
func (d *desk) request() (string, error) {
	return d.exemptions().RequestExemption(d.t.Context(), named("ann").Principal,
		document.ExemptionRequest{Seconds: 60, Reason: "urgent"}, nil)
}

// approve approves an exemption, and returns the answer.
func (d *desk) approve(id, user, reason string) string {
	d.t.Helper()
	text, err := d.exemptions().ApproveExemption(d.t.Context(), named(user), route.ExemptionID{Exemption: id},
		document.ReasonRequest{Reason: reason})
	if err != nil {
		d.t.Fatal(err)
	}
	return text.Text
}

// listed returns the exemptions that another hub lists.
func (d *desk) listed() []document.Exemption {
	d.t.Helper()
	d.restart()
	list, err := d.exemptions().Exemptions(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return list.Exemptions
}

// TestExemptionInForce: an exemption begins with the second approval, for its time, until a user ends it.
func TestExemptionInForce(t *testing.T) {
	d := newDesk(t)
	id, err := d.exemptions().RequestExemption(t.Context(), named("ann").Principal,
		document.ExemptionRequest{Select: []string{"web*"}, Seconds: 3600, Reason: "urgent"}, []fleet.TargetID{"t1", "t2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.listed(); len(got) != 1 || got[0].State != "waiting" || got[0].Until != 1_086_400 || got[0].Targets != 2 ||
		got[0].By != "ann" || got[0].Need != 2 || got[0].Approvals == nil || len(got[0].Approvals) > 0 {
		t.Errorf("after the request: %+v", got)
	}
	const another = "It needs the approval of another user."
	for _, c := range []struct{ user, reason, want string }{
		{"bob", "", another}, {"bob", "", "You have approved it before. " + another},
		{"eve", "I agree", "Until 1970-01-12 14:46 UTC, -t web* may change outside of their windows."},
	} {
		if got := d.approve(id, c.user, c.reason); got != c.want {
			t.Errorf("%s: %q", c.user, got)
		}
	}
	if got := d.listed()[0]; got.State != "in force" || got.Until != 1_003_600 || len(got.Approvals) != 2 ||
		got.Approvals[0] != (document.Consent{By: "bob", At: 1_000_000}) {
		t.Errorf("after the approvals: %+v", got)
	}
	err = d.exemptions().EndExemption(t.Context(), named("ann"), route.ExemptionID{Exemption: id},
		document.ReasonRequest{Reason: "done"})
	if err != nil || len(d.listed()) > 0 {
		t.Errorf("%v, %+v", err, d.listed())
	}
	want := []string{"ann: exemption " + id + " from windows requested for -t web*: urgent",
		"bob: exemption " + id + " approved", "eve: exemption " + id + " approved: I agree",
		"ann: exemption " + id + " ended: done"}
	if got := d.noted(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestExemptionThatEnded: nothing can be changed in an exemption that has ended or does not exist.
func TestExemptionThatEnded(t *testing.T) {
	d := newDesk(t)
	x := d.exemptions()
	id, err := d.request()
	if err != nil {
		t.Fatal(err)
	}
	both := func(id string, status int, why, hint string) {
		t.Helper()
		_, err := x.ApproveExemption(t.Context(), named("bob"), route.ExemptionID{Exemption: id}, document.ReasonRequest{})
		wantRefused(t, err, status, why, hint)
		err = x.EndExemption(t.Context(), named("bob"), route.ExemptionID{Exemption: id}, document.ReasonRequest{})
		wantRefused(t, err, status, why, hint)
	}
	both(id+"x", api.NotFound, `cannot find the exemption "`+id, "Did you mean: "+id)
	both("some other name", api.NotFound, `cannot find the exemption "some other name"`, "fettle exemption list")
	d.now = d.now.Add(24 * time.Hour)
	both(id, api.Conflict, "the exemption "+id+" has ended", "fettle exemption request")
	if got := d.listed(); len(got) != 1 || got[0].State != "ended" {
		t.Errorf("%+v", got)
	}
}

// TestExemptionLimit: at most 20 requests and exemptions wait or are in force. Ended ones are listed for a week.
func TestExemptionLimit(t *testing.T) {
	d := newDesk(t)
	for i := range 20 {
		if _, err := d.request(); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	_, err := d.request()
	wantRefused(t, err, api.Conflict, "20 wait or are in force", "fettle exemption end")
	for _, c := range []struct {
		after time.Duration // the end of the first ones
		want  int
	}{{0, 21}, {7 * 24 * time.Hour, 22}, {7*24*time.Hour + time.Second, 3}} {
		d.now = time.Unix(1_000_000, 0).Add(24*time.Hour + c.after)
		last, err := d.request()
		if got := d.listed(); err != nil || len(got) != c.want || got[0].ID != last {
			t.Errorf("%s after the end: %d exemptions, %v", c.after, len(got), err)
		}
	}
}

// TestExemptionsOfOneTime: exemptions with the same time are sorted by their IDs.
func TestExemptionsOfOneTime(t *testing.T) {
	d := newDesk(t)
	for range 5 {
		if _, err := d.request(); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, e := range d.listed() {
		ids = append(ids, e.ID)
	}
	if len(ids) != 5 || !slices.IsSorted(ids) {
		t.Errorf("%q", ids)
	}
}

// TestExemptionThatIsNotStored: an order that the store refuses is an error, and has no effect.
func TestExemptionThatIsNotStored(t *testing.T) {
	d := newDesk(t)
	x := d.exemptions()
	id, err := d.request()
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(d.listed(), d.noted())
	d.store.Break(fleet.ErrNoAnswer)
	if _, err := d.request(); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a request: %v", err)
	}
	_, err = x.ApproveExemption(t.Context(), named("bob"), route.ExemptionID{Exemption: id}, document.ReasonRequest{})
	if !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("an approval: %v", err)
	}
	err = x.EndExemption(t.Context(), named("bob"), route.ExemptionID{Exemption: id}, document.ReasonRequest{})
	if !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("an end: %v", err)
	}
	d.now = d.now.Add(9 * 24 * time.Hour)
	if _, err := d.request(); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a request that removes an old one: %v", err)
	}
	d.now = time.Unix(1_000_000, 0)
	d.store.Break(nil)
	if after := fmt.Sprint(d.listed(), d.noted()); after != before {
		t.Errorf("%s, before %s", after, before)
	}
}
