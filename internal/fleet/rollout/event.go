package rollout

import "fettle.dev/fettle/internal/fleet"

// Change is one part of an assignment with its new content.
type Change struct {
	Part   string `json:"part"`   // "top", "modules/web", "labels", …
	Digest string `json:"digest"` // of the new content; "" removes the part
	// Adds means that the content is stable, and the target does not have the part, or has foreign content: its addition
	// is a change of its own.
	Adds bool `json:"adds,omitempty"`
}

// Kind is the kind of an event.
type Kind string

// The events of a rollout. Events about one member have Target, events about a wave have Wave. Some events are about a
// target, and no rollout.
const (
	Created   Kind = "created"
	Announced Kind = "announced" // more members of a large rollout, whose created event follows: see Event.Pieces
	Joined    Kind = "joined"    // a new target belongs to the wave
	Left      Kind = "left"      // the target does not take part any more: another rollout has it, or it left the fleet
	Granted   Kind = "granted"   // the target may have the change; Before is its previous content
	Ready     Kind = "ready"     // it was ready for long enough
	Failed    Kind = "failed"    // for the first time, or again after it was ready
	Silent    Kind = "silent"    // no contact since the grant
	Recovered Kind = "recovered" // it failed or was silent, and is being applied again
	Skipped   Kind = "skipped"   // an operator excluded it
	Retried   Kind = "retried"   // an operator orders another attempt
	Settled   Kind = "settled"   // the wave meets its conditions: its bake time begins
	Unsettled Kind = "unsettled" // it does not meet them any more
	Advanced  Kind = "advanced"  // the wave begins
	Paused    Kind = "paused"
	Resumed   Kind = "resumed"
	Promoted  Kind = "promoted"   // an operator ended the bake time of the wave
	Breached  Kind = "breached"   // the limits are exceeded; Reaction is the consequence
	Returned  Kind = "returned"   // the target has its previous content again
	Ended     Kind = "ended"      // Phase is the result
	Released  Kind = "released"   // an operator permits the content that was held
	Unwanted  Kind = "unwanted"   // no target lacks the held content
	Wanted    Kind = "wanted"     // a target lacks it again
	Approved  Kind = "approved"   // a user consents at a gate of the wave
	Expired   Kind = "expired"    // an approval is too old to count
	Rejected  Kind = "rejected"   // a user rejects the change at a gate of the wave
	Vetoed    Kind = "vetoed"     // a user rejects the rollout for an organization: its approvals no longer count
	Away      Kind = "away"       // the target has had no contact for a long time; no rollout
	Back      Kind = "back"       // it has contact again, or left the fleet; no rollout
	Measured  Kind = "measured"   // a gate of the wave returned Verdict; Why is the evidence
	Moved     Kind = "moved"      // Targets have Lane from now on; "" means none
	Defined   Kind = "defined"    // Defined is the strategy of Lane from now on
	CatchesUp Kind = "catches-up" // Targets may have the stable content of Lane; Lost means without a place
	Owed      Kind = "owed"       // Targets may get the stable content of Part, which they lack; Why is the reason
	NotOwed   Kind = "not-owed"   // Targets have Part, or do not want it any more
	CaughtUp  Kind = "caught-up"  // Targets no longer catch up; Why is the reason if they did not become ready
)

// Event is one entry of the log. The state is a fold over the log.
type Event struct {
	Rollout string `json:"rollout"`
	At      int64  `json:"at"` // seconds since 1970
	Kind    Kind   `json:"kind"`
	Target  ID     `json:"target,omitempty"`
	Wave    int    `json:"wave,omitempty"`
	Why     string `json:"why,omitempty"`
	By      string `json:"by,omitempty"` // the operator

	Created  *Plan    `json:"created,omitempty"`
	Before   []Change `json:"before,omitempty"`
	Lost     bool     `json:"lost,omitempty"` // see Member.Lost
	Reaction Reaction `json:"reaction,omitempty"`
	Phase    Phase    `json:"phase,omitempty"`
	// Unproved are the changes of a complete rollout that do not become stable, because no ready member has them.
	Unproved []Change `json:"unproved,omitempty"`

	Gate    string  `json:"gate,omitempty"` // of the wave
	Verdict Verdict `json:"verdict,omitempty"`
	Period  int     `json:"period,omitempty"` // see Rollout.Period

	Lane    string      `json:"lane,omitempty"`
	Targets []ID        `json:"targets,omitempty"` // sorted
	Part    string      `json:"part,omitempty"`
	Defined *Definition `json:"defined,omitempty"`
	New     bool        `json:"new,omitempty"` // see CatchUp.New
	// Organization is the one for which a user approves the whole rollout; "" means a gate.
	Organization fleet.Organization `json:"organization,omitempty"`
}

// Plan is the description of a rollout. It is immutable.
type Plan struct {
	Lane     string   `json:"lane"` // the branch or pin that its targets follow
	Cause    string   `json:"cause"`
	Changes  []Change `json:"changes"` // sorted
	Strategy Strategy `json:"strategy"`
	Waves    []Wave   `json:"waves"`
	Piece    int      `json:"piece,omitempty"` // from 1, if the members are in several events: see Event.Pieces
	// Git is the name of the author in git. Author is the name of this user in the hub; "" means that it is not known.
	Git    string `json:"git,omitempty"`
	Author string `json:"author,omitempty"`
}

// Phase is the state of a rollout.
type Phase string

// The phases. Completed and the phases after it are final.
const (
	Active      Phase = "active"
	OnHold      Phase = "paused"
	RollingBack Phase = "rolling-back"
	Completed   Phase = "completed"
	// WithExceptions means that enough members are ready, but not all.
	WithExceptions Phase = "completed-with-exceptions"
	Aborted        Phase = "aborted"
	RolledBack     Phase = "rolled-back"
	Superseded     Phase = "superseded"
)

// Final reports whether a rollout in this phase has ended.
func (p Phase) Final() bool {
	return p == Completed || p == WithExceptions || p == Aborted || p == RolledBack || p == Superseded
}
