// Package plan decides what has to run to go from what is applied and observed
// to the list that is wanted. It is pure: observations come in as images, the
// plan goes out as data, and a plan carries its own way back.
//
//	p := plan.Make(plan.Input{Wanted: list, Applied: state, Observed: images, …})
//	for _, c := range p.Changes { fmt.Println(c.Action, c.Addr) }
//
// The comparison has three sides: wanted, applied, observed.
//
//	wanted  applied  observed              action
//	yes     no       other                 create or update; the origin is recorded
//	yes     no       in sync             adopt
//	yes     yes      as applied, other     update
//	yes     yes      other than applied    repair, or drift when it is only reported
//	no      yes      any                   remove: back to the origin
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

// Action is what happens to an address.
type Action string

// The actions. Those that change nothing on the machine come last.
const (
	Create  Action = "create"  // nothing was there
	Update  Action = "update"  // something else was there, or an older version of ours
	Repair  Action = "repair"  // it drifted from what was applied
	Remove  Action = "remove"  // no longer wanted: back to its origin
	Purge   Action = "purge"   // nobody's: a directory with purge holds it
	Restore Action = "restore" // rollback: back to what an earlier run left
	Run     Action = "run"     // a command or a notified action
	Verify  Action = "verify"  // a check, after the run
	Wait    Action = "wait"    // a wait, in its turn
	Adopt   Action = "adopt"   // found in sync: recorded, never undone
	Forget  Action = "forget"  // no longer wanted and never changed by us: left as it is
	Blocked Action = "blocked" // cannot be removed or restored now: left as it is, and still managed
	Drift   Action = "drift"   // differs from what was applied; policy says report only
	Reboot  Action = "reboot"  // only shown: a command of the plan that restarts the machine
)

// Mutates tells whether the action changes the machine.
func (a Action) Mutates() bool {
	switch a {
	case Create, Update, Repair, Remove, Purge, Restore, Run, Reboot:
		return true
	}
	return false
}

// Difference is one aspect in which what is there is not what is wanted.
type Difference struct {
	Field string `json:"field"` // mode, owner, content, version, active, …
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Change is one line of a plan.
type Change struct {
	Action Action    `json:"action"`
	Addr   addr.Addr `json:"addr"`
	// Step is the canonical wanted line; "" for remove and forget.
	Step string `json:"step,omitempty"`
	// Applied is the canonical line in force until now; "" when there is none.
	Applied string `json:"applied,omitempty"`
	Source  string `json:"source,omitempty"` // file:line
	// State names the state of the configuration that writes the address, such as
	// file.motd; "" if it is unknown. It is not part of the digest.
	State string `json:"state,omitempty"`
	// From is what was observed, To what will be there. To is nil where only
	// the run can tell: after a package or an account that does not exist yet.
	From *image.Image `json:"from,omitempty"`
	To   *image.Image `json:"to,omitempty"`
	// Then is what the run gone back to had, on a restore for which To cannot be
	// told or can change before its turn; and what a directory gets of which the
	// list no longer says all. It is put back if the step still asks for just that.
	Then *image.Image `json:"then,omitempty"`
	// Found tells that To is what a run found, or kept: it is restored as it is,
	// whatever the step asks for.
	Found bool `json:"found,omitempty"`
	// Whole is what the whole file of a part becomes, on the last change of a part of it.
	Whole *Whole `json:"whole,omitempty"`
	// Why is the reason in a few words: "no longer in the list", "notified by
	// file:/etc/nginx/nginx.conf".
	Why         string       `json:"why"`
	Differences []Difference `json:"differences,omitempty"`
	// Diff is a unified diff of text content, filled at the edge; "" when there
	// is none to show. Binary tells that the content is no text.
	Diff   string `json:"diff,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	// Irreversible says in a sentence why the change cannot be undone; ""
	// when it can.
	Irreversible string `json:"irreversible,omitempty"`
	// Note is what a person should know: kept foreign files, cut hard links.
	Note string `json:"note,omitempty"`
	// Cause lists what triggers an action.
	Cause []addr.Addr `json:"cause,omitempty"`
	// Drifted tells that what was applied is not what was observed, whatever
	// the action is.
	Drifted bool `json:"drifted,omitempty"`
	// Stale marks an action that only the list in force until now has; it leaves
	// alone what is gone or not running, and its failure is only noted.
	Stale bool `json:"stale,omitempty"`
	// Needed are the wanted packages that need one which only goes with them, and the
	// wanted addresses in a directory that goes when they do. Such a change is blocked
	// and no error.
	Needed []string `json:"needed,omitempty"`
	// Held tells that the package leaves the list and an administrator holds it. Such a
	// change is blocked and no error.
	Held bool `json:"held,omitempty"`
	// By is the directory whose purge takes the path away.
	By addr.Addr `json:"by,omitempty"`
}

// Plan is everything that a run will do, in order.
type Plan struct {
	Format    int               `json:"format"` // 1
	Operation journal.Operation `json:"operation"`
	Target    string            `json:"target,omitempty"`
	Base      int               `json:"base"`         // the run that it starts from
	To        int               `json:"to,omitempty"` // rollback: the run gone back to
	Revision  repo.Revision     `json:"revision"`
	List      string            `json:"list"` // digest of the wanted list
	Changes   []Change          `json:"changes"`
	Unchanged int               `json:"unchanged"` // addresses in sync
	// Stage counts the stages of a list with phases from 1, and Stages says how many
	// there are; 0 for a list without.
	Stage  int `json:"stage,omitempty"`
	Stages int `json:"stages,omitempty"`
	// Later is what follows when all this is done, as far as it is known before.
	Later []Later `json:"later,omitempty"`
	// Notes are about what the plan was made from, not about what it does: what was
	// damaged and made again. They are no part of the digest.
	Notes []string `json:"notes,omitempty"`
}

// Later is a change that this plan makes possible: of a later phase, or of a state
// whose attributes only a run gives.
type Later struct {
	Action Action    `json:"action,omitempty"` // "" where it is not known before
	Addr   addr.Addr `json:"addr,omitempty"`   // "" where it is not known before
	State  string    `json:"state,omitempty"`  // how the repository calls it
	Source string    `json:"source,omitempty"` // file:line
	Why    string    `json:"why"`
}

// More tells whether another plan follows when this one is done.
func (p *Plan) More() bool { return len(p.Later) > 0 || p.Stage < p.Stages }

// Empty tells whether nothing would change on the machine. Checks and drift
// that is only reported do not count.
func (p *Plan) Empty() bool {
	for _, c := range p.Changes {
		if c.Action.Mutates() {
			return false
		}
	}
	return true
}

// Count gives the number of changes by what they are shown as.
func (p *Plan) Count() map[Action]int {
	n := map[Action]int{}
	for _, c := range p.Changes {
		n[c.Shown()]++
	}
	return n
}

// Irreversible lists the changes that cannot be undone.
func (p *Plan) Irreversible() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Irreversible != "" && c.Action.Mutates() {
			out = append(out, c)
		}
	}
	return out
}

// Digest names the plan. A saved plan is stale when planning again gives
// another digest. Diffs, notes and names of states take no part.
func (p *Plan) Digest() string {
	q := *p
	q.Notes = nil
	q.Changes = make([]Change, len(p.Changes))
	for i, c := range p.Changes {
		c.Diff, c.Binary, c.State = "", false, ""
		q.Changes[i] = c
	}
	b, err := json.Marshal(q)
	if err != nil { // only strings and numbers: cannot happen
		return ""
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
