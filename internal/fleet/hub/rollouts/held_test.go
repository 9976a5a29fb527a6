package rollouts

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestStateOfRollbacks: a rollback shows the held content of the alarms that it causes.
func TestStateOfRollbacks(t *testing.T) {
	const text = "held: HEAD c2, stable c1"
	for name, c := range map[string]struct {
		part, held, commit string
		alarm              fleet.HeldContent
		want               string
	}{
		"of the part":    {"modules/web", "c2", "c1", fleet.NewHeldContent([]string{"modules/web", "top"}, "c2", "c1"), text},
		"of all parts":   {"all", "c2", "c1", fleet.NewHeldContent([]string{"top"}, "c2", "c1"), text},
		"another part":   {"modules/web", "c2", "c1", fleet.NewHeldContent([]string{"top"}, "c2", "c1"), noHeld},
		"another head":   {"top", "c2", "c1", fleet.NewHeldContent([]string{"top"}, "c3", "c1"), noHeld},
		"another commit": {"top", "c2", "c0", fleet.NewHeldContent([]string{"top"}, "c2", "c1"), noHeld},
		"no content": {"top", "c2", "c0", fleet.NewHeldContent([]string{"top"}, "c2", ""),
			"held: HEAD c2, without stable content"},
	} {
		d := newDesk(t)
		put(t, d.table.Alarms, records.AlarmsKey, []assign.Alarm{{Kind: assign.Unresolved}, {Held: &c.alarm}})
		put(t, d.table.Replacements, records.RefKey(c.part), assign.Replacement{Part: c.part, Held: c.held, Commit: c.commit})
		list, err := FleetRollbacks{Records: d.table}.FleetRollbacks(t.Context())
		if err != nil || len(list.Rollbacks) != 1 || list.Rollbacks[0].State != c.want {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestHeldContentOfARollout: the alarm about a rollout that was stopped names the commits, also in the list.
func TestHeldContentOfARollout(t *testing.T) {
	b := newBack(t)
	b.fails("c2")
	got := HeldContent(append(b.alarms, assign.Alarm{Kind: assign.Unresolved}))
	want := fleet.NewHeldContent([]string{"modules/web"}, "c2", "c1")
	if len(got) != 1 || got[0].Rollout != "r2" || got[0].Text != want.Text || !slices.Equal(got[0].Parts, want.Parts) {
		t.Errorf("%+v, want %+v", got, want)
	}
	s, _ := serviceOf(t, b.hub)
	s.Held = func() []fleet.HeldContent { return got }
	list, err := s.Rollouts(t.Context())
	if err != nil || len(list) != 2 || list[0].HeldContent == nil || list[0].HeldContent.Text != want.Text ||
		list[1].HeldContent != nil {
		t.Errorf("%+v, %v", list, err)
	}
	if d, err := s.Rollout(t.Context(), "r2"); err != nil || d.Rollout.HeldContent == nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestHeldPartsOfARollout: parts whose content another rollout has delivered meanwhile are not held.
func TestHeldPartsOfARollout(t *testing.T) {
	b := newBack(t)
	b.bad = "w2"
	next := "top=t2@c2 modules/web=w2@c2"
	b.until(next, one, next)
	for range 5 {
		b.turn(next)
	}
	if got := b.alarm().Held.Parts; !slices.Equal(got, []string{"modules/web", "top"}) {
		t.Errorf("after the rollback: %q", got)
	}
	b.completes("r9", "main short", "top=t2@c2", rollout.Completed)
	b.turn(next)
	if got := b.alarm().Held.Parts; !slices.Equal(got, []string{"modules/web"}) {
		t.Errorf("after another rollout: %q", got)
	}
}

// TestNewestHeldCommit: the commit with the newest time counts, if a rollout has parts of several commits.
func TestNewestHeldCommit(t *testing.T) {
	turn, err := hubOf(t, bustest.NewStore()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	parts := []fleet.Assigned{{Module: "a", Revision: fleet.Revision{Commit: "c1", Time: 1}},
		{Module: "b", Revision: fleet.Revision{Commit: "c3", Time: 3}},
		{Module: "c", Revision: fleet.Revision{Commit: "c2", Time: 2}}}
	for _, p := range parts {
		turn.contents[changeTo(p)] = p
	}
	var newest fleet.Revision
	for _, p := range append(parts, fleet.Assigned{Module: "unknown"}) {
		newest = turn.newer(newest, changeTo(p))
	}
	if newest.Commit != "c3" {
		t.Errorf("%+v", newest)
	}
}

// TestRolloutOfHeldContent: the alarm about a rollback of the fleet names the newest rollout of the held content.
func TestRolloutOfHeldContent(t *testing.T) {
	b := newBack(t)
	b.until(two, two)
	b.turn(two)
	b.site.head.Head.Root = fleet.Bundle{Digest: "t1"}
	b.site.head.Head.Bundles = map[string]fleet.Bundle{"modules/web": {Digest: "w2"}}
	turn, err := b.hub.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	alarms := func() []assign.Alarm {
		held := func(rollout string, parts ...string) assign.Alarm {
			h := fleet.NewHeldContent(parts, "c2", "c1")
			h.Rollout = rollout
			return assign.Alarm{Held: &h}
		}
		return []assign.Alarm{{Kind: assign.Unresolved}, held("", "modules/web"), held("", "top"),
			held("", "modules/web", "top"), held("", "modules/db"), held("r7", "modules/web")}
	}
	rollouts := func(all []assign.Alarm) (out []string) {
		turn.NameRollouts(all)
		for _, h := range HeldContent(all) {
			out = append(out, h.Rollout)
		}
		return out
	}
	if got := rollouts(alarms()); !slices.Equal(got, []string{"", "", "", "", "r7"}) {
		t.Errorf("before the decision: %q", got)
	}
	turn.Plan(b.site.head, b.desired("top=t1@c2 modules/web=w1@c1"))
	if got := rollouts(alarms()); !slices.Equal(got, []string{"r2", "r1", "r2", "", "r7"}) {
		t.Errorf("%q", got)
	}
	shared := alarms()
	kept := slices.Clone(shared)
	if rollouts(kept); shared[1].Held.Rollout != "" {
		t.Error("the alarms of the caller are modified")
	}
}
