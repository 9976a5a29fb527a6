// Package plan computes the changes from the applied and the observed state of a host to the desired
// list. It is pure: the plan is data, and contains what its undo needs. An image is the state of one
// address, observed or recorded.
//
//	p := plan.Make(plan.Input{Desired: list, Applied: state, Observed: images, …})
//	for _, c := range p.Changes { fmt.Println(c.Action, c.Addr) }
//
// It compares three states: desired (the list), applied (the last run), observed (the host).
//
//	in list  applied  observed                            action
//	yes      no       different from the list             create or update; the origin is recorded
//	yes      no       in sync                             adopt
//	yes      yes      as applied, different from the list update
//	yes      yes      not as applied                      repair, or drift if it is only reported
//	no       yes      any                                 remove: restore the origin
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Action is the type of a change.
type Action string

// The actions. Mutates reports which of them change the host.
const (
	Create  Action = "create"  // the address was absent
	Update  Action = "update"  // the address was different, or an older version from fettle
	Repair  Action = "repair"  // the address differs from the applied state
	Remove  Action = "remove"  // not in the list any more: restore the origin
	Purge   Action = "purge"   // an entry without a step in a directory with purge
	Restore Action = "restore" // rollback: restore the state of an earlier run
	Run     Action = "run"     // a command or a notified action
	Verify  Action = "verify"  // a check after the run
	Wait    Action = "wait"    // a WAIT step at its place in the list
	Adopt   Action = "adopt"   // already in sync: recorded, never undone
	Forget  Action = "forget"  // not in the list any more and never changed by fettle: it stays
	Blocked Action = "blocked" // cannot be removed or restored now: unchanged and still managed
	Drift   Action = "drift"   // differs from the applied state; the policy only reports it
	Reboot  Action = "reboot"  // only for display: a command that restarts the host
)

// Mutates reports whether the action changes the host.
func (a Action) Mutates() bool {
	switch a {
	case Create, Update, Repair, Remove, Purge, Restore, Run, Reboot:
		return true
	}
	return false
}

// Change is one line of a plan.
type Change struct {
	Action Action    `json:"action"`
	Addr   addr.Addr `json:"addr"`
	// Step is the desired step; none for remove and forget.
	Step step.Step `json:"step,omitzero"`
	// Applied is the applied step, or none.
	Applied step.Step `json:"applied,omitzero"`
	Source  string    `json:"source,omitempty"` // file:line
	// State names the state of the configuration that writes the address, such as
	// file.motd; "" if it is unknown. It is not part of the digest.
	State string `json:"state,omitempty"`
	// From is the observed image, To the image after the run. To is nil if only the run can determine
	// it: after a package or account that does not exist yet.
	From *image.Image `json:"from,omitempty"`
	To   *image.Image `json:"to,omitempty"`
	// Earlier is an earlier image, which is restored if the step still asks for exactly this image. In a
	// rollback, it is the image of the goal, if To is unknown or can change before the step. For a
	// directory, it has the properties that the list no longer sets.
	Earlier *image.Image `json:"then,omitempty"`
	// Captured reports that To was captured by a run, or stored. It is restored exactly, regardless of
	// the step.
	Captured bool `json:"found,omitempty"`
	// WholeFile is the resulting file, on the last change of a part of a file.
	WholeFile *WholeFile `json:"whole,omitempty"`
	// Why is the reason in a few words: "no longer in the list", "notified by
	// file:/etc/nginx/nginx.conf".
	Why         string             `json:"why"`
	Differences []image.Difference `json:"differences,omitempty"`
	// Diff is a unified diff of text content, computed by the caller; it can be "". Binary reports
	// that the content is not text.
	Diff   string `json:"diff,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	// Irreversible is a sentence why the change cannot be undone, or "".
	Irreversible string `json:"irreversible,omitempty"`
	// Note is further information for the user, such as stored files of others or separated hard
	// links.
	Note string `json:"note,omitempty"`
	// Cause lists the addresses that trigger an action.
	Cause []addr.Addr `json:"cause,omitempty"`
	// Drifted reports that the observed state differs from the applied state, regardless of the
	// action.
	Drifted bool `json:"drifted,omitempty"`
	// Stale marks an action that only the applied list has. It ignores units that are missing or not
	// running, and its failure is only noted.
	Stale bool `json:"stale,omitempty"`
	// Needed lists the packages of the list that depend on this package, or the addresses of the list
	// in this directory. Such a change is blocked, which is not an error.
	Needed []string `json:"needed,omitempty"`
	// Held reports that the package leaves the list and an administrator holds it. Such a change is
	// blocked, which is not an error.
	Held bool `json:"held,omitempty"`
	// ChangedByOthers reports that a rollback manages a path again which other users have changed since its
	// release. The origin is then the current state.
	ChangedByOthers bool `json:"others,omitempty"`
	// PurgedBy is the directory whose purge removes the path.
	PurgedBy addr.Addr `json:"by,omitempty"`
}

// StepOrApplied returns the desired step, or the applied step if there is no desired one.
func (c Change) StepOrApplied() step.Step {
	if c.Step.IsZero() {
		return c.Applied
	}
	return c.Step
}

// Plan contains all changes of a run, in order.
type Plan struct {
	Format    int               `json:"format"` // 1
	Operation journal.Operation `json:"operation"`
	Target    string            `json:"target,omitempty"`
	Base      int               `json:"base"`         // the run whose state is the start of this plan
	To        int               `json:"to,omitempty"` // rollback: the run whose state is restored
	Revision  repo.Revision     `json:"revision"`
	List      string            `json:"list"` // digest of the desired list
	Changes   []Change          `json:"changes"`
	Unchanged int               `json:"unchanged"` // addresses in sync
	// Stage is the number of this stage of a list with phases, from 1, and Stages is the total. Both
	// are 0 for a list without phases.
	Stage  int `json:"stage,omitempty"`
	Stages int `json:"stages,omitempty"`
	// Later are the expected changes after this plan.
	Later []Later `json:"later,omitempty"`
	// Notes are about the input of the plan, such as repaired state files. The digest does not include
	// them.
	Notes []string `json:"notes,omitempty"`
}

// Later is a change that can follow this plan: a change of a later phase, or a state with attributes
// that only a run determines.
type Later struct {
	Action Action    `json:"action,omitempty"` // "" if it is not known yet
	Addr   addr.Addr `json:"addr,omitempty"`   // "" if it is not known yet
	State  string    `json:"state,omitempty"`  // its name in the repository
	Source string    `json:"source,omitempty"` // file:line
	Why    string    `json:"why"`
}

// More reports whether another plan follows this one.
func (p *Plan) More() bool { return len(p.Later) > 0 || p.Stage < p.Stages }

// Empty reports whether the plan does not change the host. Checks and reported drift do not count.
func (p *Plan) Empty() bool {
	for _, c := range p.Changes {
		if c.Action.Mutates() {
			return false
		}
	}
	return true
}

// Irreversible returns the changes that cannot be undone.
func (p *Plan) Irreversible() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Irreversible != "" && c.Action.Mutates() {
			out = append(out, c)
		}
	}
	return out
}

// Digest identifies the plan. A saved plan is stale if a new plan has another digest. The digest does
// not include diffs, notes and names of states.
func (p *Plan) Digest() string {
	q := *p
	q.Notes = nil
	q.Changes = make([]Change, len(p.Changes))
	for i, c := range p.Changes {
		c.Diff, c.Binary, c.State = "", false, ""
		q.Changes[i] = c
	}
	b, err := json.Marshal(q)
	if err != nil { // impossible: there are only strings and numbers
		return ""
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
