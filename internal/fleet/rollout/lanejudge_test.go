package rollout_test

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// selectsStrategy gives the root part content that selects a strategy, or changes the label of a host that does.
func (f *fleet) selectsStrategy(rt *rapid.T, h *host, digest string) {
	if rapid.IntRange(0, 3).Draw(rt, "by label") == 0 {
		h.wish = rapid.SampledFrom([]string{"", "at-once", "web"}).Draw(rt, "wish")
		return
	}
	f.commit(digest, rapid.SampledFrom([]string{"careful", "at-once", "web"}).Draw(rt, "selected strategy"),
		rapid.IntRange(0, 2).Draw(rt, "bad") == 0)
	f.selects.lax[digest] = rapid.Bool().Draw(rt, "lax")
	f.selects.gone[digest] = rapid.IntRange(0, 2).Draw(rt, "gone") == 0
}

// completed reports whether a rollout of a root content in a branch was complete.
func (f *fleet) completed(branch, digest string) bool {
	plans := map[string]*rollout.Plan{}
	for _, e := range f.log {
		if e.Kind == rollout.Created {
			plans[e.Rollout] = e.Created
		}
		if p := plans[e.Rollout]; e.Kind == rollout.Ended && isComplete(e) && inBranch(p.Lane, branch) &&
			slices.Contains(p.Changes, rollout.Change{Part: "top", Digest: digest}) {
			return true
		}
	}
	return false
}

func isComplete(e rollout.Event) bool {
	return e.Phase == rollout.Completed || e.Phase == rollout.WithExceptions
}

func inBranch(lane, branch string) bool { return lane == branch || strings.HasPrefix(lane, branch+" ") }

// freed checks the hosts whose changes do not wait for rollouts any more: their root content selects this, and is
// proved. A rollout of it is complete, or the host got it without a rollout, too. After a restore the log may lack the
// rollout of content that the host showed.
func (f *fleet) freed(w rollout.World) {
	for id, h := range f.hosts {
		lane, was, root := w.Targets[id].Lane, h.inLane, h.parts["top"]
		h.inLane = lane
		if f.selects == nil || lane != "" || was == "" || root == "" || h.from != h.lane ||
			!inBranch(was, h.lane) {
			continue
		}
		proved := h.freely || h.shown["top"] == root || f.completed(h.lane, root)
		if s := f.strategyOf(root, h); s != "at-once" || !proved {
			f.tell("%s has %s, which selects %s, and its changes do not wait any more", id, root, s)
		}
	}
}

// rooted notes how a host got its root content.
func (f *fleet) rooted(h *host, lane string) { h.from, h.freely = h.lane, lane == "" }

// declared checks a recorded strategy: the head declares it.
func (f *fleet) declared(e rollout.Event) {
	if want := f.strategies(e.Lane, nil).MaxFailed; !f.declares(e.Lane) || e.Defined.Strategy.MaxFailed != want {
		f.tell("the strategy of %s is recorded as %+v", e.Lane, e.Defined.Strategy)
	}
}

// defines checks the strategy of a new rollout: the head declares it, or it was recorded last.
func (f *fleet) defines(log []rollout.Event, e rollout.Event) {
	want := f.strategies(e.Created.Lane, nil).MaxFailed
	if !f.declares(e.Created.Lane) {
		for _, p := range log {
			if p.Kind == rollout.Defined && p.Lane == e.Created.Lane {
				want = p.Defined.Strategy.MaxFailed
			}
		}
	}
	if got := e.Created.Strategy.MaxFailed; got != want {
		f.tell("%s tolerates %+v instead of %+v", e.Rollout, got, want)
	}
}
