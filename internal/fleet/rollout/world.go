package rollout

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// Health is the state of the newest assignment on its target. A report about another assignment does not
// count.
type Health string

// The states of health. Failed means that a run or check failed, or that the target returned to
// its last good assignment.
const (
	Unknown  Health = "" // no report about the newest assignment
	Blocked  Health = "blocked"
	Applying Health = "applying"
	Healthy  Health = "ready"
	Broken   Health = "failed"
)

// Target is the knowledge of the hub about one active target.
type Target struct {
	Name string // for texts; "" means its ID
	Lane string // State.Lane; Decide changes it when the target moves
	// Organization is the organization of the target. Only World.Limits use it.
	Organization fleet.Organization
	// Chosen is the lane that the desired content selects. "" means that the target keeps its lane.
	Chosen string
	// Wants are the parts of the desired assignment that its newest assignment has not, sorted.
	Wants []Change
	// Missing are the parts of Wants that a target with an assignment does not have in any content.
	Missing []string
	// Ordered are the parts of Missing that new labels select, and that no newer commit selects.
	Ordered []string
	// Foreign are the parts of a target whose content the log does not know, because it was lost or is an old copy. The
	// target keeps this content until a rollout replaces it, also if the desired content is stable.
	Foreign []string
	Health  Health
	Since   int64 // of the health, seconds since 1970
	Online  bool
	Contact int64  // the last one, seconds since 1970
	Hold    string // the reason why it must not be changed now: a freeze, a window, a hold; or ""
	Closed  bool   // its Hold is a window, and ends by itself
	New     bool   // it has no assignment yet
	// Frozen means that the target applies nothing. If it is New, it gets its first assignment nevertheless.
	Frozen bool
	Labels map[string]string
	// Waits contains the reason for each part that the target must not get yet, because the part depends on modules of
	// other targets.
	Waits map[string]string
	// WaitsFor contains the parts for which each part of Waits waits.
	WaitsFor map[string][]string
	// Requires contains, for each part of Wants, the other parts without whose changes the target cannot use its new
	// content, also indirectly.
	Requires map[string][]Required
}

// wants reports whether a target lacks one of the changes of a rollout.
func (t Target) wants(r *Rollout) bool { return slices.ContainsFunc(t.Wants, r.has) }

// Required is a part whose change a target must have before another change, or together with it.
type Required struct {
	Part string
	Why  string // for users
}

// World is the knowledge of the hub about the fleet.
type World struct {
	Targets map[ID]Target // the active ones
	// Order contains the IDs of Targets, sorted. nil means that the package sorts them itself.
	Order []ID
	// Resync is true until a hub that began to lead knows the present state of most targets that are not State.Away.
	// There are no grants and no verdicts meanwhile.
	Resync bool
	// Has returns the content of a part in the newest assignment of a target; "" means none.
	Has func(id ID, part string) string
	// Parts returns all parts of the newest assignment of a target. nil means that Has is called for each part, which
	// takes long if a rollout has very many changes.
	Parts func(id ID) []Change
	Up    int64 // since when the hub observes the fleet, seconds since 1970
	// Jump is the time of the last jump of the clock since the hub observes the fleet; 0 means none. Time before it does
	// not count as time for which a target was ready or silent, or for which a wave baked.
	Jump int64
	// postponed and awaits are results of the functions postponed and awaitsContents, and texts of waveText, see Explain.
	postponed map[string]map[Change]string
	awaits    bool
	texts     waveTexts
	// Strategy returns the strategy for changes of a lane.
	Strategy func(lane string, changes []Change) Strategy
	// Declares reports whether the newest commit declares the strategy of a lane. Otherwise its last declaration
	// counts. nil means that it declares all.
	Declares func(lane string) bool
	// OpenFor returns the time in seconds from one time to another in which the windows of a target are open. It need
	// not be more than enough. nil means that there are no windows.
	OpenFor func(id ID, from, to, enough int64) int64
	// Limits are the limits of organizations.
	Limits []fleet.Limits
	// Eager means that a rollout begins although none of its targets can be changed, which is for previews.
	Eager bool
	// Cause describes the reason of changes in a lane for users: "commit abc123 by jane".
	Cause func(lane string, changes []Change) string
	// Author returns the author of changes in a lane: the name in git, and the name of this user in the hub. user is ""
	// if the user is not known. nil means that no author is known.
	Author func(lane string) (git, user string)
}

func (w World) declares(lane string) bool { return w.Declares == nil || w.Declares(lane) }

// silentFor returns the time without contact, in seconds. Time during which the hub did not observe
// the target does not count.
func (w World) silentFor(t Target, since, now int64) int64 {
	if t.Online {
		return 0
	}
	return now - max(w.counted(t.Contact, now), w.Up, w.counted(since, now))
}

// counted returns a time of the log or of a report as the present clock of the hub counts it: time before a jump of the
// clock does not count, and neither does a time that the clock has not reached again.
func (w World) counted(at, now int64) int64 {
	if at > now && w.Jump > 0 {
		return w.Jump
	}
	return max(at, w.Jump)
}

func (t Target) isForeign(part string) bool { return slices.Contains(t.Foreign, part) }

// awaitsContents reports whether a hub that began to lead waits for foreign content: a target has some, and more
// targets will show their content when they have contact. A rollout that begins before would have too few members in
// its waves.
func (w World) awaitsContents() bool {
	if !w.Resync {
		return false
	}
	for _, target := range w.Targets {
		if len(target.Foreign) > 0 {
			return true
		}
	}
	return false
}

// unapproved returns the reason why a target must not get the changes of a rollout yet, or "": users must approve the
// rollout for its organization, and for each organization above it.
func (w World) unapproved(r *Rollout, id ID) string {
	target := w.Targets[id]
	for _, l := range w.Limits {
		if n := len(r.Consents[l.Organization]); n < l.Approvals && l.Organization.Contains(target.Organization) {
			if v, vetoed := r.Vetoes[l.Organization]; vetoed {
				return fmt.Sprintf("%s rejected the rollout %s for the organization %s: %s", v.By, r.ID, l.Organization, v.Why)
			}
			return fmt.Sprintf("the rollout %s waits for the approval of %d of %d users for the organization %s", r.ID,
				l.Approvals-n, l.Approvals, l.Organization)
		}
	}
	return ""
}

// Awaits returns the organizations whose approvals a rollout lacks, because members wait for them, sorted.
func (w World) Awaits(r *Rollout) (out []fleet.Organization) {
	for _, l := range w.Limits {
		if len(r.Consents[l.Organization]) >= l.Approvals {
			continue
		}
		for id, m := range r.Members {
			if m.State == MemberPending && l.Organization.Contains(w.Targets[id].Organization) {
				out = append(out, l.Organization)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}
