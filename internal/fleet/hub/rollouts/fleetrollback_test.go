package rollouts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// back is a site with orders to roll the fleet back.
type back struct {
	*desk
	*site
}

// newBack returns a site whose stable content is of the commit c1, and whose head is c1.
func newBack(t *testing.T) *back {
	b := &back{newDesk(t), newSite(t, hubOf(t, bustest.NewStore()))}
	b.until(one, one)
	b.turn(one)
	b.head("c1")
	for id, a := range b.was {
		put(t, b.table.Assignments, string(id), records.Assignment{Assignment: *a})
	}
	return b
}

// put stores a value.
func put[T any](t *testing.T, m *records.Mirror[T], key string, value T) {
	t.Helper()
	_, rev, _ := m.Get(key)
	if err := m.Put(t.Context(), key, value, rev); err != nil {
		t.Fatal(err)
	}
}

// head sets the head of the branch.
func (b *back) head(commit string) {
	b.site.head.Head.Revision.Commit = commit
	put(b.desk.t, b.table.Refs, records.RefKey("main"), records.Ref{Revision: fleet.Revision{Commit: commit,
		Repository: "site"}})
}

// fails lets a rollout of new content of the module web fail on its first target, and return.
func (b *back) fails(commit string) {
	b.head(commit)
	b.bad = "w" + commit
	next := "top=t1@c1 modules/web=w" + commit + "@" + commit
	b.until(next, one, next)
	b.until(next, one)
	for range 3 {
		b.turn(next)
	}
}

func (b *back) rollbacks() FleetRollbacks {
	return FleetRollbacks{Log: b.hub, Now: b.time, Records: b.table, Branch: func() string { return "main" },
		Events: b.recorder()}
}

func (b *back) roll(part, to string) (string, error) {
	d, err := b.rollbacks().RollBackFleet(b.desk.t.Context(), named("ann"),
		document.FleetRollbackRequest{Part: part, To: to, Reason: "errors"})
	return d.Text, err
}

// wantRolled orders a rollback, and checks the begin of the answer.
func (b *back) wantRolled(part, to, want string) {
	b.desk.t.Helper()
	b.now = b.now.Add(1e9)
	if got, err := b.roll(part, to); err != nil || !strings.HasPrefix(got, want) {
		b.desk.t.Errorf("%s to %s: %q, %v, want %q", part, to, got, err, want)
	}
}

// stored returns the rollbacks that another hub lists.
func (b *back) stored() (out []string) {
	b.desk.t.Helper()
	b.restart()
	list, err := b.rollbacks().FleetRollbacks(b.desk.t.Context())
	if err != nil {
		b.desk.t.Fatal(err)
	}
	for _, r := range list.Rollbacks {
		out = append(out, fmt.Sprintf("%s %.4s to %.4s, %s: %s; %s", r.Part, r.Held, r.Commit, r.By, r.Reason, r.State))
	}
	return out
}

const (
	nothing = "There is nothing to do"
	noHeld  = "without effect: the branch has other content"
)

// c8 and c9 are full hashes of commits.
var c8, c9 = strings.Repeat("8", 40), strings.Repeat("9", 64)

// TestRollbackRefused names the problem of an order and the next step.
func TestRollbackRefused(t *testing.T) {
	b := newBack(t)
	for _, c := range []struct {
		part, to  string
		status    int
		why, hint string
	}{
		{"modules/wep", "stable", api.NotFound, `no target has the module "modules/wep"`, "Did you mean: modules/web"},
		{"modules/something", c8, api.NotFound, "no target has the module", "fettle module list --fleet"},
		{"modules/web", "v1.0", api.BadRequest, `"v1.0": it is not the full hash of a commit`, "--to stable"},
		{"all", c8 + "0", api.BadRequest, "it is not the full hash", "--to stable"},
	} {
		_, err := b.roll(c.part, c.to)
		wantRefused(t, err, c.status, c.why, c.hint)
	}
	if got := b.stored(); len(got) > 0 || len(b.noted()) > 0 {
		t.Errorf("refused orders are stored: %q, %q", got, b.noted())
	}
	b.hub = hubOf(t, bustest.NewStore())
	_, err := b.roll("modules/web", "stable")
	wantRefused(t, err, api.Conflict, "no rollout of modules/web has completed", "--to COMMIT")
	b.desk = newDesk(t)
	_, err = b.roll("top", "stable")
	wantRefused(t, err, api.Conflict, "the hub has not read the branch yet", "fettle status --fleet")
}

// TestRollbackToStable: an order holds only parts whose newest content is not stable.
func TestRollbackToStable(t *testing.T) {
	b := newBack(t)
	b.wantRolled("all", "stable", nothing)
	b.fails("c2")
	b.wantRolled("top", "stable", nothing)
	b.wantRolled("modules/web", "stable", "Held: modules/web: HEAD c2, stable c1. Rollouts return all targets")
	b.wantRolled("all", "stable", nothing)
	if got := b.stored(); !slices.Equal(got, []string{"modules/web c2 to c1, ann: errors; " + noHeld}) {
		t.Errorf("%q", got)
	}
	want := []string{"ann: rollback of the fleet, held: modules/web: HEAD c2, stable c1: errors"}
	if got := b.noted(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b.head("c3") // no rollout has delivered this commit yet, so each part can have new content
	b.wantRolled("all", "stable", "Held: modules/web: HEAD c3, stable c1; top: HEAD c3, stable c1. ")
	b.bad = ""
	b.until(three, three)
	b.turn(three)
	b.wantRolled("all", "stable", nothing)
}

// TestRollbackToStableHead: content of the head is not held, also if newer content is being rolled out still.
func TestRollbackToStableHead(t *testing.T) {
	b := newBack(t)
	b.turn("top=t2@c2 modules/web=w2@c2") // the branch returned to c1 meanwhile
	b.wantRolled("all", "stable", nothing)
}

// TestRollbackWithExceptions: content that enough targets have is stable.
func TestRollbackWithExceptions(t *testing.T) {
	b := newBack(t)
	b.head("c2")
	b.completes("r9", "main short", "top=t1@c0 modules/web=w2@c2", rollout.WithExceptions)
	b.wantRolled("all", "stable", nothing)
	b.head("c3")
	b.wantRolled("modules/web", "stable", "Held: modules/web: HEAD c3, stable c2.")
}

// TestRollbackToDifferentStable: without one stable content, the user must name a commit.
func TestRollbackToDifferentStable(t *testing.T) {
	b := newBack(t)
	b.strategies["t3"] = "careful"
	b.until(two, one, two)
	b.head("c3")
	b.completes("r9", "main careful", "top=t1@c1 modules/web=w7@c0", rollout.Completed)
	_, err := b.roll("all", "stable")
	wantRefused(t, err, api.Conflict, "the stable content of modules/web is different for different strategies",
		"--to COMMIT")
	b.wantRolled("top", "stable", "Held: top: HEAD c3, stable c1. ")
}

// completes stores a rollout of the parts of an assignment that has ended.
func (b *back) completes(id, lane, words string, phase rollout.Phase) {
	t := b.desk.t
	t.Helper()
	if err := b.hub.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.hub.end()
	a := assignment(words)
	plan := rollout.Plan{Lane: lane, Strategy: rollout.Careful(), Changes: wants(nil, *a)}
	contents := map[rollout.Change]fleet.Assigned{}
	for _, p := range parts(*a) {
		contents[changeTo(p)] = p
	}
	all := []rollout.Event{{Rollout: id, Kind: rollout.Created, Created: &plan},
		{Rollout: id, Kind: rollout.Ended, Phase: phase}}
	for _, e := range all {
		b.hub.state.Fold(e)
	}
	if err := b.hub.store(t.Context(), all, contents); err != nil {
		t.Fatal(err)
	}
}

func changeTo(p fleet.Assigned) rollout.Change {
	return rollout.Change{Part: partName(p), Digest: digest(p)}
}

// TestRollbackToCommit: repeating an order changes nothing, and an order for another commit replaces it.
func TestRollbackToCommit(t *testing.T) {
	b := newBack(t)
	b.wantRolled("modules/web", c8, "Held: modules/web: HEAD c1, commit 888888888888. ")
	b.wantRolled("modules/web", c8, nothing)
	b.wantRolled("modules/web", c9, "Held: modules/web: HEAD c1, commit 999999999999. ")
	b.head(c9)
	b.wantRolled("modules/web", c9, nothing)
	b.wantRolled("modules/web", c8, "Held: modules/web: HEAD 999999999999, commit 888888888888. ")
	if got := b.stored(); !slices.Equal(got, []string{"modules/web 9999 to 8888, ann: errors; " + noHeld}) {
		t.Errorf("%q", got)
	}
}

// TestRollbackOrder: the newest order wins, so an order is repeated if another one has replaced its effect meanwhile.
func TestRollbackOrder(t *testing.T) {
	b := newBack(t)
	for _, c := range []struct{ part, to, want string }{
		{"all", c8, "Held: all"}, {"top", c9, "Held: top"}, {"modules/web", c9, "Held: modules/web"},
		{"top", c9, nothing}, {"all", c8, "Held: all"}, {"all", c8, nothing}, {"top", c9, "Held: top"},
	} {
		b.wantRolled(c.part, c.to, c.want)
	}
	b.now = b.now.Add(-3600e9) // the clock of another hub
	b.wantRolled("all", c8, "Held: all")
	last := ""
	for _, r := range b.table.Replacements.Values() {
		if all, _, _ := b.table.Replacements.Get(records.RefKey("all")); r.Part != "all" && r.At >= all.At {
			last = r.Part
		}
	}
	if last != "" {
		t.Errorf("the order for %s is newer than the last one", last)
	}
}

// TestRollbackReleasesFailedContent: a rollout to which an operator returns was held, and is permitted again.
func TestRollbackReleasesFailedContent(t *testing.T) {
	b := newBack(t)
	b.fails(c8)
	failed := b.alarm()
	b.head(c9)
	b.wantRolled("top", c8, "Held: top: HEAD 999999999999, commit 888888888888. Rollouts return")
	if !held(b.hub, failed.Text) {
		t.Error("the content of another part is released")
	}
	b.wantRolled("modules/web", c8, "Held: modules/web: HEAD 999999999999, commit 888888888888. "+
		"Released, because they failed with this content: r2. Rollouts return")
	if held(b.hub, failed.Text) {
		t.Error("the content is held")
	}
	want := []string{"ann: rollback of the fleet, held: top: HEAD 999999999999, commit 888888888888: errors",
		"ann: rollout r2 released its content: it may be rolled out again",
		"ann: rollback of the fleet, held: modules/web: HEAD 999999999999, commit 888888888888: errors"}
	if got := b.noted(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestRollbackRepeated: repeating an order permits content that failed after the order.
func TestRollbackRepeated(t *testing.T) {
	b := newBack(t)
	b.head(c9)
	b.wantRolled("modules/web", c8, "Held")
	b.fails(c8)
	b.head(c9)
	b.wantRolled("modules/web", c8, "Released, because they failed with this content: r2. ")
	b.wantRolled("modules/web", c8, nothing)
}

// TestRollbackOfAllReleasesFailedContent also after a rollout that was a rollback to the commit.
func TestRollbackOfAllReleasesFailedContent(t *testing.T) {
	b := newBack(t)
	b.site.head.Head.Bundles = map[string]fleet.Bundle{"modules/web": {Digest: "another content"}}
	b.fails(c8)
	b.head(c9)
	b.wantRolled("all", c8, "Held: all: HEAD 999999999999, commit 888888888888. Released, because they failed with "+
		"this content: r2. ")
}

// TestReleaseFleet ends rollbacks of one part or of all parts.
func TestReleaseFleet(t *testing.T) {
	b := newBack(t)
	release := func(part string) (string, error) {
		b.restart()
		d, err := b.rollbacks().ReleaseFleet(t.Context(), named("bob"),
			document.FleetReleaseRequest{Part: part, Reason: "done"})
		return d.Text, err
	}
	for _, part := range []string{"top", "modules/web", "all"} {
		b.wantRolled(part, c8, "Held: "+part)
	}
	before := len(b.noted())
	if got, err := release("top"); err != nil || !strings.HasPrefix(got, "Released: top. Rollouts deliver") {
		t.Errorf("%q, %v", got, err)
	}
	if got := b.stored(); len(got) != 2 || !strings.HasPrefix(got[0], "all") || !strings.HasPrefix(got[1], "modules/web") {
		t.Errorf("%q", got)
	}
	_, err := release("top")
	wantRefused(t, err, api.Conflict, "there is no rollback of top", "fettle fleet rollbacks")
	if got, err := release(assign.AllParts); err != nil || !strings.HasPrefix(got, "Released: all, modules/web. ") {
		t.Errorf("%q, %v", got, err)
	}
	if got := b.stored(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := b.noted()[before:]; len(got) != 3 || got[0] != "bob: rollback of the fleet released: top: done" {
		t.Errorf("%q", got)
	}
}

// TestRollbackThatIsNotStored: an order that the store refuses is an error.
func TestRollbackThatIsNotStored(t *testing.T) {
	b := newBack(t)
	b.wantRolled("top", c8, "Held")
	b.store.Break(fleet.ErrNoAnswer)
	if _, err := b.roll("modules/web", c8); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a rollback: %v", err)
	}
	_, err := b.rollbacks().ReleaseFleet(t.Context(), named("bob"), document.FleetReleaseRequest{Part: "top"})
	if !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a release: %v", err)
	}
	b.store.Break(nil)
	if got := b.stored(); len(got) != 1 || len(b.noted()) != 1 {
		t.Errorf("%q, %q", got, b.noted())
	}
	b.fails(c8)
	b.head(c9)
	b.hub.mirror.Store.(*bustest.Store).Break(fleet.ErrNoAnswer)
	if _, err := b.roll("modules/web", c8); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a rollback whose failed rollout cannot be released: %v", err)
	}
}
