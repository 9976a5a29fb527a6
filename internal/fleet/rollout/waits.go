package rollout

import (
	"slices"
	"sync"
)

// Permits is Allowed for a target that may depend on other targets: it then waits also for stable content. Content
// that a rollout granted does not wait. Content that requires other changes waits for them in any case.
func (s *State) Permits(id ID, target Target, c Change) (allowed bool, why string) {
	return permits(s, id, target, s.addition(id, target, c), nil)
}

// permits is Permits for a result of addition.
func permits(s *State, id ID, target Target, c Change, known waveTexts) (allowed bool, why string) {
	allowed, why = mayHave(s, id, target.Lane, c, known)
	held := !allowed && s.HeldBy(target.Lane, c) != ""
	if reason := target.depends(c); reason != "" && !held && !s.Granted(id, c) {
		return false, reason
	}
	if reason := (requiring{s, id, target}).now(c); reason != "" && !held {
		return false, reason
	}
	return allowed, why
}

// Granted reports whether an open rollout granted a change to a target.
func (s *State) Granted(id ID, c Change) bool {
	for _, r := range s.Open() {
		if r.granted(id, c) {
			return true
		}
	}
	return false
}

// depends returns the reason why a target must not get a change yet, or "". The removal of a part does not wait.
func (t Target) depends(c Change) string {
	if c.Digest == "" {
		return ""
	}
	return t.Waits[c.Part]
}

// waitsIn returns the reason why a target must not get the changes of a rollout yet, or "". A rollout does not wait for
// a part that it delivers itself, for example because the dependence was declared after its begin: it would never end.
func (t Target) waitsIn(r *Rollout) string {
	for _, c := range t.Wants {
		if why := t.depends(c); r.has(c) && why != "" && !slices.ContainsFunc(t.WaitsFor[c.Part], r.part) {
			return why
		}
	}
	return ""
}

// lacks returns the reason why a target must not get a change yet, or "": another change that it requires cannot arrive
// before it or together with it. The removal of a part requires nothing.
func (t Target) lacks(c Change, arrives func(Change) bool) string {
	if len(t.Requires) == 0 || c.Digest == "" {
		return ""
	}
	for _, r := range t.Requires[c.Part] {
		for _, other := range t.Wants {
			if other.Part == r.Part && !arrives(other) {
				return r.Why
			}
		}
	}
	return ""
}

// requiring decides about changes of a target that require each other.
type requiring struct {
	s      *State
	id     ID
	target Target
}

// may reports whether the target may have a change now, without the changes that it requires.
func (q requiring) may(c Change) bool {
	c = q.s.addition(q.id, q.target, c)
	allowed, _ := q.s.Allowed(q.id, q.target.Lane, c)
	return allowed && (q.target.depends(c) == "" || q.s.Granted(q.id, c))
}

// now returns the reason why the target must not get a change now because of the changes that it requires, or "".
func (q requiring) now(c Change) string {
	var first Change
	why := q.target.lacks(c, func(other Change) bool {
		first = q.s.addition(q.id, q.target, other)
		return q.may(other)
	})
	if why == "" {
		return ""
	}
	if reason := q.target.depends(first); reason != "" {
		return why + ": " + reason
	}
	_, reason := q.s.Allowed(q.id, q.target.Lane, first)
	return why + ": " + reason
}

// in returns the reason why the target must not get the changes of a rollout to which it belongs, or "".
func (q requiring) in(r *Rollout) string {
	why, _ := q.absent(r)
	return why
}

// absent returns the first change that the changes of a rollout require, and that cannot arrive with them. why is the
// reason, or "".
func (q requiring) absent(r *Rollout) (why string, first Change) {
	if len(q.target.Requires) == 0 {
		return "", first
	}
	for _, c := range q.target.Wants {
		if !r.has(c) {
			continue
		}
		why = q.target.lacks(c, func(other Change) bool {
			first = other
			return r.has(other) && q.s.skipped.by(q.id, other) == "" || q.may(other)
		})
		if why != "" {
			return why, first
		}
	}
	return "", first
}

// unstable reports whether the target must not catch up with a change: it requires a change that is not stable.
func (q requiring) unstable(c Change) bool {
	return q.target.lacks(c, func(other Change) bool {
		return q.may(other) || q.s.free(q.target.Lane, other) && q.target.depends(other) == "" &&
			q.s.skipped.by(q.id, other) == ""
	}) != ""
}

// Explain notes for State.Reason which changes wait for the end of another rollout, and whether rollouts wait for
// foreign content. Call it after Decide, and again after each change of the state.
func (w *World) Explain(s *State) {
	w.postponed, w.awaits, w.texts = postponed(s, *w), w.awaitsContents(), waveTexts{}
}

// postponed returns the rollouts after whose end some changes can be proposed, by lane. Some targets of the lane
// require a change that only this rollout delivers. A rollout of the other targets would have the wrong waves.
func postponed(s *State, w World) map[string]map[Change]string {
	out := map[string]map[Change]string{}
	if len(s.Open()) == 0 {
		return out
	}
	for _, target := range w.Targets {
		if len(target.Requires) == 0 {
			continue
		}
		for _, c := range target.Wants {
			by := ""
			target.lacks(c, func(other Change) bool {
				by = delivers(s, target.Lane, other, c)
				return by == ""
			})
			if by == "" {
				continue
			}
			if out[target.Lane] == nil {
				out[target.Lane] = map[Change]string{}
			}
			if was := out[target.Lane][c]; was == "" || number(by) < number(was) {
				out[target.Lane][c] = by
			}
		}
	}
	return out
}

// delivers returns the open rollout of a lane that has a change, and does not have the second one, or "".
func delivers(s *State, lane string, c, second Change) string {
	for _, r := range s.Open() {
		if r.Plan.Lane == lane && r.has(c) && !r.has(second) {
			return r.ID
		}
	}
	return ""
}

// laterThan returns a function that reports whether a target cannot get the changes of a rollout before its end: they
// require a change that is postponed until then.
func laterThan(r *Rollout, t *turn) func(id ID, target Target) bool {
	all := sync.OnceValue(func() map[Change]string { return postponed(t.s, t.w)[r.Plan.Lane] })
	return func(id ID, target Target) bool {
		why, c := requiring{t.s, id, target}.absent(r)
		return why != "" && all()[c] == r.ID
	}
}
