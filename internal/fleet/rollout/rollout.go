package rollout

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// Rollout is the state of one rollout.
type Rollout struct {
	ID      string         `json:"id"`
	At      int64          `json:"at"` // of its creation
	Plan    Plan           `json:"plan"`
	Phase   Phase          `json:"phase"`
	Why     string         `json:"why,omitempty"`     // of the phase
	By      string         `json:"by,omitempty"`      // the operator who paused it, or ""
	Wave    int            `json:"wave"`              // the current wave
	Began   int64          `json:"began"`             // of the current wave
	Settled int64          `json:"settled,omitempty"` // since when the current wave meets its conditions; 0: it does not
	Stopped int64          `json:"stopped,omitempty"` // time of the breach; 0: none
	Members map[ID]*Member `json:"members"`
	// Unwanted reports that no target lacks the content that is held because of the rollout.
	Unwanted bool `json:"unwanted,omitempty"`
	// Period changes when a bake time of a wave begins or ends. Verdicts of gates count for one period.
	Period int `json:"period,omitempty"`
	// Verdicts contains the states of gates by wave and name.
	Verdicts map[int]map[string]*GateState `json:"verdicts,omitempty"`
	// Consents are the approvals for organizations.
	Consents map[fleet.Organization][]Approval `json:"consents,omitempty"`
	// Vetoes are the rejections for organizations. The next approval for the organization removes one.
	Vetoes map[fleet.Organization]Veto `json:"vetoes,omitempty"`
	// Course is the numbers of members over time; nil means that they are not known.
	Course *Course `json:"course,omitempty"`

	released bool // an operator released its content
	promoted bool // an operator ended the bake time of the current wave
	accepted bool // an operator resumed the rollout in the current wave: its conditions are met
	// forgiven is the number of failed and silent members at the last resumption. They do not count.
	forgiven int
	resumed  int64           // time of the last resumption; 0: none
	grants   []int64         // times of the grants in the minute before the last one
	numbers  tally           // of the members
	contents map[Change]bool // Plan.Changes, if there are many
}

// Veto is the rejection of a rollout by a user for an organization.
type Veto struct {
	By  string `json:"by"`
	At  int64  `json:"at"` // seconds since 1970
	Why string `json:"why,omitempty"`
}

// has reports whether a change belongs to the rollout.
func (r *Rollout) has(c Change) bool {
	if r.contents != nil {
		return r.contents[c]
	}
	return slices.Contains(r.Plan.Changes, c)
}

// manyChanges is the number of changes for which a map is faster than a list.
const manyChanges = 8

// index prepares has.
func (r *Rollout) index() {
	if len(r.Plan.Changes) < manyChanges {
		return
	}
	r.contents = make(map[Change]bool, len(r.Plan.Changes))
	for _, c := range r.Plan.Changes {
		r.contents[c] = true
	}
}

// takesPart reports whether a target is a member that has not left.
func (r *Rollout) takesPart(id ID) bool {
	m := r.Members[id]
	return m != nil && m.State != MemberLeft
}

// granted reports whether a target may have a change because of the rollout.
func (r *Rollout) granted(id ID, c Change) bool {
	if !r.has(c) || r.Phase == RollingBack {
		return false
	}
	m := r.Members[id]
	return m != nil && m.touched()
}

// part reports whether the rollout changes a part.
func (r *Rollout) part(name string) bool {
	return slices.ContainsFunc(r.Plan.Changes, func(c Change) bool { return c.Part == name })
}

// size returns the number of members of a wave that take part.
func (r *Rollout) size(wave int) int {
	return r.count(wave, MemberPending, MemberGranted, MemberReady, MemberFailed, MemberSilent, MemberReturned)
}

// WorstCase returns the largest number of members that can fail before the rollout stops by itself.
func (r *Rollout) WorstCase() int {
	most := 0
	for i, w := range r.Plan.Waves {
		most = max(most, limit(w.MaxUnavailable, r.size(i)))
	}
	return min(r.size(allWaves), tolerance(r.Plan.Strategy.MaxFailed, r.size(allWaves))+most)
}

// free returns the number of members that may become unavailable now. Members of earlier waves that
// returned count, too.
func (r *Rollout) free() int {
	wave := r.Plan.Waves[r.Wave]
	gone := max(0, r.failed()+r.count(allWaves, MemberSilent)-r.forgiven)
	return limit(wave.MaxUnavailable, r.size(r.Wave)) - r.moving() - gone
}

// Progress returns numbers of members of a wave: size take part, and ready of them are ready. At most
// atOnce may be unavailable at the same time.
func (r *Rollout) Progress(wave int) (size, ready, atOnce int) {
	size = r.size(wave)
	return size, r.count(wave, MemberReady), limit(r.Plan.Waves[wave].MaxUnavailable, size)
}

// count returns the number of members of a wave in one of the states, which must be different.
func (r *Rollout) count(wave int, states ...MemberState) (n int) {
	for _, s := range states {
		n += r.numbers.inWave[waveState{wave, s}]
	}
	return n
}

// failed returns the number of members that failed because of the change.
func (r *Rollout) failed() int { return r.numbers.changed[MemberFailed] }

// moving returns the number of members that the change made unavailable.
func (r *Rollout) moving() int { return r.numbers.changed[MemberGranted] }

// Waiting is an open rollout with members that do not have the change yet.
type Waiting struct {
	ID, Cause string
	Pending   []ID // sorted
	Consents  map[fleet.Organization][]Approval
	Vetoes    map[fleet.Organization]Veto
}

// Waiting describes the rollout. The result does not share memory with it.
func (r *Rollout) Waiting() Waiting {
	w := Waiting{ID: r.ID, Cause: r.Plan.Cause, Consents: map[fleet.Organization][]Approval{},
		Vetoes: maps.Clone(r.Vetoes)}
	for _, id := range sorted(r.Members) {
		if r.Members[id].State == MemberPending {
			w.Pending = append(w.Pending, id)
		}
	}
	for path, all := range r.Consents {
		w.Consents[path] = slices.Clone(all)
	}
	return w
}
