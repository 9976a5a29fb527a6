package rollout

import "slices"

// Permits is Allowed for a target that may depend on other targets: it then waits also for stable content. Content
// that a rollout granted does not wait.
func (s *State) Permits(id ID, target Target, c Change) (allowed bool, why string) {
	c = s.addition(id, target, c)
	allowed, why = s.Allowed(id, target.Lane, c)
	held := !allowed && s.HeldBy(target.Lane, c) != ""
	if reason := target.depends(c); reason != "" && !held && !s.Granted(id, c) {
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
