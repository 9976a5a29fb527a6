package rollout_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// judge checks new events against the hosts, without the state of the rollouts.
func (f *fleet) judge(log []rollout.Event) {
	for i, e := range log {
		f.organized(slices.Concat(f.log, log[:i]), e)
		switch e.Kind {
		case rollout.CatchesUp:
			f.admitted(slices.Concat(f.log, log[:i]), e)
		case rollout.Defined:
			f.declared(e)
		case rollout.CaughtUp:
			f.givesUp(e)
		case rollout.Created:
			f.defines(slices.Concat(f.log, log[:i]), e)
		case rollout.Granted:
			f.granted(slices.Concat(f.log, log[:i]), e)
		case rollout.Ready:
			if h := f.hosts[e.Target]; h.health != rollout.Healthy || f.now-h.since < f.strategy.MinReadyTime {
				f.tell("%s is called ready, and is %q since %d of %d", e.Target, h.health, h.since, f.now)
			}
		case rollout.Advanced:
			f.windows(slices.Concat(f.log, log[:i]), e)
			f.passed(slices.Concat(f.log, log[:i]), e)
		case rollout.Settled:
			f.undecided(slices.Concat(f.log, log[:i]), e)
		case rollout.Ended:
			if e.Phase == rollout.Completed || e.Phase == rollout.WithExceptions {
				f.windows(slices.Concat(f.log, log[:i]), e)
			}
			f.passed(slices.Concat(f.log, log[:i]), e)
			f.ended(slices.Concat(f.log, log[:i]), e)
			f.proven(slices.Concat(f.log, log[:i]), e)
		}
	}
}

// last returns the last event of each member of a rollout, and its plan.
func last(log []rollout.Event,
	id string) (plan *rollout.Plan, wave int, phase rollout.Kind, state map[rollout.ID]rollout.Kind) {
	state = map[rollout.ID]rollout.Kind{}
	for _, e := range log {
		switch {
		case e.Rollout != id:
		case e.Kind == rollout.Created:
			plan = e.Created
		case e.Target != "":
			state[e.Target] = e.Kind
		case e.Kind == rollout.Advanced:
			wave = e.Wave
		case e.Kind == rollout.Paused || e.Kind == rollout.Resumed || e.Kind == rollout.Breached || e.Kind == rollout.Ended:
			phase = e.Kind
		}
	}
	return plan, wave, phase, state
}

// lost returns the members that had failed before their grant, and were not ready since.
func lost(log []rollout.Event, id string) map[rollout.ID]bool {
	out := map[rollout.ID]bool{}
	for _, e := range log {
		switch {
		case e.Rollout != id:
		case e.Kind == rollout.Granted:
			out[e.Target] = e.Lost
		case e.Kind == rollout.Ready:
			out[e.Target] = false
		}
	}
	return out
}

func inFlight(k rollout.Kind) bool {
	return k == rollout.Granted || k == rollout.Failed || k == rollout.Silent || k == rollout.Recovered
}

// members returns the number of targets that take part.
func members(plan *rollout.Plan, state map[rollout.ID]rollout.Kind) (n int) {
	in := map[rollout.ID]bool{}
	for _, w := range plan.Waves {
		for _, id := range w.Members {
			in[id] = true
		}
	}
	for id, k := range state {
		in[id] = k != rollout.Left && k != rollout.Skipped
	}
	for _, yes := range in {
		if yes {
			n++
		}
	}
	return n
}

// granted checks one grant.
func (f *fleet) granted(log []rollout.Event, e rollout.Event) {
	plan, wave, phase, state := last(log, e.Rollout)
	h := f.hosts[e.Target]
	if f.resync || phase != "" && phase != rollout.Resumed || !h.online || h.hold != "" {
		f.tell("%s gets a grant: resync %v, phase %s, online %v, hold %q", e.Target, f.resync, phase, h.online, h.hold)
	}
	if e.Lost != (h.health == rollout.Broken) {
		f.tell("%s is granted the change as lost %t, and is %q", e.Target, e.Lost, h.health)
	}
	for _, c := range f.wants(h) {
		db := slices.ContainsFunc(plan.Changes, func(c rollout.Change) bool { return c.Part == "db" })
		if brings(plan, c) && !db {
			f.ordered(e.Target, c, "a grant")
		}
	}
	f.limited(log, e)
	n, failed, most := 0, 0, plan.Waves[wave].MaxUnavailable
	for id, was := range lost(log, e.Rollout) {
		if k := state[id]; inFlight(k) && (!was || k == rollout.Silent) {
			n++
		}
		if state[id] == rollout.Failed && !was {
			failed++
		}
	}
	if phase == rollout.Resumed {
		return // an operator accepted what failed
	}
	tolerated := plan.Strategy.MaxFailed.Number
	if plan.Strategy.MaxFailed.Percent {
		tolerated = tolerated * members(plan, state) / 100
	}
	if failed > tolerated {
		f.tell("%s is granted the change after %d failed", e.Target, failed)
	}
	limit := most.Number
	if most.Percent {
		limit = max(1, len(plan.Waves[wave].Members)*most.Number/100)
	}
	if joined := f.joiners(log, e.Rollout); !e.Lost && n+1 > limit+joined {
		f.tell("%d members are in flight, and the limit is %d", n+1, limit)
	}
	f.alone(log, e)
}

// joiners returns the number of targets that joined a rollout.
func (f *fleet) joiners(log []rollout.Event, id string) (n int) {
	for _, e := range log {
		if e.Rollout == id && e.Kind == rollout.Joined {
			n++
		}
	}
	return n
}

// alone checks that no other rollout moves the target.
func (f *fleet) alone(log []rollout.Event, e rollout.Event) {
	moves := map[string]bool{}
	for _, was := range log {
		if was.Target == e.Target {
			moves[was.Rollout] = was.Kind == rollout.Granted || was.Kind == rollout.Recovered
		}
		if was.Kind == rollout.Ended {
			delete(moves, was.Rollout)
		}
	}
	for id := range moves {
		if moves[id] {
			f.tell("%s is granted %s, and %s moves it", e.Target, e.Rollout, id)
		}
	}
}

// ended checks the end of a rollout: complete means that members are ready.
func (f *fleet) ended(log []rollout.Event, e rollout.Event) {
	plan, _, _, state := last(log, e.Rollout)
	if len(plan.Waves) == 0 {
		f.adopted(plan)
		return
	}
	ready := 0
	for _, k := range slices.Collect(maps.Values(state)) {
		if k == rollout.Ready {
			ready++
		}
	}
	if (e.Phase == rollout.Completed || e.Phase == rollout.WithExceptions) && ready == 0 {
		f.tell("%s is complete, and no member is ready", e.Rollout)
	}
}

// adopted checks content that is stable without a rollout: a healthy host has it.
func (f *fleet) adopted(plan *rollout.Plan) {
	for _, c := range plan.Changes {
		has := false
		for _, h := range f.hosts {
			has = has || inBranch(plan.Lane, h.lane) && h.health == rollout.Healthy && h.parts[c.Part] == c.Digest
		}
		if !has {
			f.tell("%v is stable in %s, and no healthy host has it", c, plan.Lane)
		}
	}
}

// explained checks that each host without a change has a reason: a rollout, or an obstacle on the host.
func (f *fleet) explained(w rollout.World) {
	for id, h := range f.hosts {
		for _, c := range w.Targets[id].Wants {
			if allowed, _ := f.s.Permits(id, w.Targets[id], c); allowed {
				continue
			}
			why := f.s.Reason(w, id, c)
			obstacle := !h.online || h.hold != "" || len(w.Targets[id].Waits)+len(w.Targets[id].Requires) > 0
			if why == "" || strings.HasSuffix(why, ": ") || !namesRollout.MatchString(why) && !obstacle {
				f.tell("%s waits for %v, and the reason is %q", id, c, why)
			}
			if !h.online && !strings.Contains(why, "no contact") || !strings.Contains(why, h.hold) {
				f.tell("%s waits for %v with an obstacle, and the reason is %q", id, c, why)
			}
		}
	}
}

var namesRollout = regexp.MustCompile(`rollout r[0-9]+|other targets that catch up|content is stable|` +
	`most targets have contact`)

// absent checks the targets that the state calls away: exactly those without contact for five minutes, except time in
// which no hub led.
func (f *fleet) absent(w rollout.World) {
	if w.Resync {
		return
	}
	for id, h := range f.hosts {
		away := !h.online && f.now-max(h.contact, f.up) >= 300 || !h.online && f.s.Away(id)
		if f.s.Away(id) != away {
			f.tell("%s is called away: %v; its last contact was at %d, it is online: %v", id, !away, h.contact, h.online)
		}
	}
}
