package rollouts

import (
	"context"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Turn is one decision of the hub that leads. Commands wait from Begin until End, so that
// none is decided with a state that is not stored.
type Turn struct {
	log      *Log
	events   []rollout.Event
	contents map[rollout.Change]fleet.Assigned
	was      map[fleet.TargetID]*fleet.Assignment
	held     map[string][]fleet.TargetID // targets that lack held content, by rollout
	away     []fleet.TargetID            // see Away
	waits    bool                        // for the contact of a target
	world    rollout.World
	requires requirements
	parts    *differences
	ended    bool
	// headBundle is Fleet.headBundle.
	headBundle func(part string) string
}

// Begin begins a decision, after the end of a command in progress. The caller must call End.
func (l *Log) Begin(ctx context.Context) (*Turn, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	return &Turn{log: l, contents: map[rollout.Change]fleet.Assigned{}}, nil
}

// End ends the decision. Events that were not stored are discarded. It can be repeated.
func (t *Turn) End() {
	if t.ended {
		return
	}
	t.ended = true
	if len(t.events) > 0 {
		t.log.reset()
	}
	t.log.end()
}

// Open reports whether a rollout is open after the decision, or begins when a target has contact. The hub must then
// decide again soon.
func (t *Turn) Open() bool { return t.waits || len(t.log.state.Open()) > 0 }

// Away returns the targets without contact that get stable content when they have contact. The hub must then decide
// again.
func (t *Turn) Away() []fleet.TargetID { return t.away }

// Needed reports whether the hub must decide even if all changes are delivered at once.
func (t *Turn) Needed() bool { return t.Open() || t.log.state.HoldsAny() || t.log.state.HasLanes() }

// Events returns the events of the decision.
func (t *Turn) Events() []rollout.Event { return t.events }

// Plan decides, and returns the function that permits the changes.
func (t *Turn) Plan(f Fleet, all []assign.Desired) assign.Grant {
	w := f.world(all, t.log.state)
	t.was, t.headBundle = make(map[fleet.TargetID]*fleet.Assignment, len(all)), f.headBundle
	t.parts = &f.Observed.differences
	for _, d := range all {
		t.was[d.Target.ID] = d.Was
	}
	t.log.up.Store(f.Up)
	w.Has = func(id fleet.TargetID, part string) string { return t.parts.has(t.was[id], part) }
	w.Parts = func(id fleet.TargetID) []rollout.Change { return t.parts.all(t.was[id]) }
	if w.usable {
		t.events = t.log.state.Decide(w.World, f.Now)
		t.record(all)
		t.waits = t.log.state.Waits(w.World)
		away, behind := t.log.state.Behind(w.World)
		t.away, t.waits = away, t.waits || behind
	}
	t.held, t.world, t.requires = t.log.state.Lacking(w.World), w.World, w.requires
	t.world.Explain(t.log.state)
	for _, target := range w.Targets {
		t.waits = t.waits || waitsForTargets(target)
	}
	return func(was *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
		return t.grant(w.Targets[want.Target], was, want)
	}
}

// waitsForTargets reports whether a target needs a change that depends on other targets.
func waitsForTargets(target rollout.Target) bool {
	return slices.ContainsFunc(target.Wants, func(c rollout.Change) bool { return target.Waits[c.Part] != "" })
}

// grant returns the assignment of one target.
func (t *Turn) grant(target rollout.Target, was *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
	s := t.log.state
	returns := s.Returns(want.Target)
	if len(returns) == 0 && len(target.Wants) == 0 { // targets without a lane want nothing
		return assign.AtOnce(was, want)
	}
	return choice{wants: target.Wants, known: t.parts,
		allowed: func(c rollout.Change) (bool, string) {
			return s.PermitsOrWhy(t.world, want.Target, c)
		},
		stable: func(part string) (fleet.Assigned, bool) {
			joins := target.New || s.IsOwed(want.Target, part)
			if target.Waits[part] != "" || !joins || !s.CatchesUp(want.Target) {
				return fleet.Assigned{}, false
			}
			return t.stable(target.Lane, part, want)
		},
		content: t.content, returns: returns, requires: t.requires}.compose(was, want)
}

// stable returns the stable content of a part for a target that has none. After a rollback of the fleet, this can be
// the held content of the branch. The target then gets the content that replaces it.
func (t *Turn) stable(lane, part string, want fleet.Assignment) (fleet.Assigned, bool) {
	d, _ := t.log.state.Stable(lane, part)
	p, ok := t.content(rollout.Change{Part: part, Digest: d})
	if next, wanted := find(&want, part); ok && wanted && t.headBundle(part) == p.Bundle.Digest &&
		next.Bundle.Digest != p.Bundle.Digest {
		return next, true
	}
	return p, ok
}

// content returns the content that a change delivers.
func (t *Turn) content(c rollout.Change) (p fleet.Assigned, ok bool) {
	if p, ok = t.log.contents[c]; !ok {
		p, ok = t.contents[c]
	}
	return p, ok
}

// record collects the content of parts that the new events name.
func (t *Turn) record(all []assign.Desired) {
	needed := map[rollout.Change]bool{}
	for _, e := range t.events {
		changes := e.Before
		if e.Created != nil {
			changes = slices.Concat(changes, e.Created.Changes)
		}
		for _, c := range changes {
			if _, known := t.log.contents[c]; c.Digest != "" && !known {
				needed[c] = true
			}
		}
	}
	if len(needed) == 0 {
		return
	}
	for _, d := range all {
		for _, a := range []*fleet.Assignment{d.Was, d.Want} {
			if a != nil && len(needed) > 0 {
				t.collect(needed, *a)
			}
		}
	}
}

func (t *Turn) collect(needed map[rollout.Change]bool, a fleet.Assignment) {
	collect := func(p fleet.Assigned) {
		if c := (rollout.Change{Part: partName(p), Digest: t.parts.digest(p)}); needed[c] {
			t.contents[c] = p
			delete(needed, c)
		}
	}
	collect(a.Root)
	for i := 0; i < len(a.Modules) && len(needed) > 0; i++ {
		collect(a.Modules[i])
	}
}

// Store stores the events. Nothing that they permit may be published before. If another hub wrote first,
// the error wraps fleet.ErrConflict, and the caller must decide again.
func (t *Turn) Store(ctx context.Context) error {
	events := t.events
	t.events = nil // also after an error: the log discarded them
	return t.log.store(ctx, events, maps.Clone(t.contents))
}
