package document

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// Formats of documents about targets.
const (
	TargetPageFormat   = "fettle.fleet.targets/1"
	TargetDetailFormat = "fettle.fleet.target/1"
	StatusFormat       = "fettle.fleet.status/1"
)

// State is the worst state that applies to a target.
type State string

// States of targets, the worst first. For targets that are not active, see their standing.
const (
	Cloned       State = "cloned"       // several hosts have its identity, so its reports are ignored
	Failed       State = "failed"       // a run or a module failed
	Unresponsive State = "unresponsive" // no hub received a message of it for too long
	Drifted      State = "drifted"      // the host differs from the applied state
	Unknown      State = "unknown"      // it never reported
	Frozen       State = "frozen"       // frozen, or its assignment was withdrawn
	Deferred     State = "deferred"     // a module must not be applied before its time
	Applying     State = "applying"     // a run is active
	Blocked      State = "blocked"      // a module waits for another module; this is not an error
	Unassigned   State = "unassigned"   // it has no assignment yet; this is not an error
	Pending      State = "pending"      // a part of the assignment is not applied yet
	Ready        State = "ready"        // the whole assignment is applied and its checks succeed
	NotInFleet   State = "not-in-fleet" // not active: see its standing
)

// States returns all states, the worst first.
func States() []State {
	return []State{Cloned, Failed, Unresponsive, Drifted, Unknown, Frozen, Deferred, Applying, Blocked, Unassigned,
		Pending, Ready, NotInFleet}
}

// Order is the number of an assignment.
type Order struct {
	Epoch      uint64 `json:"epoch"`
	Generation uint64 `json:"generation"`
}

// Target is one target in a list.
type Target struct {
	ID    fleet.TargetID `json:"id"`
	Name  string         `json:"name"`
	Fleet string         `json:"fleet,omitempty"`
	// Organization is "" for a target of the fleet itself.
	Organization fleet.Organization `json:"organization,omitempty"`
	Labels       map[string]string  `json:"labels,omitempty"`
	Standing     fleet.Standing     `json:"standing"`
	State        State              `json:"state"`
	Connected    bool               `json:"connected"` // to any hub that this hub can reach
	Contact      int64              `json:"contact"`   // time of the last message; 0 is never
	Assigned     Order              `json:"assigned"`
	Accepted     Order              `json:"accepted"`
	Modules      int                `json:"modules"` // that are assigned
	Behind       int                `json:"behind"`  // number of modules that are not applied as assigned
	Drift        int                `json:"drift"`   // number of addresses
	Error        string             `json:"error,omitempty"`
	Waits        string             `json:"waits,omitempty"` // the reason, for display
	Frozen       string             `json:"frozen,omitempty"`
	Pin          *fleet.Pin         `json:"pin,omitempty"`
	Suspect      *fleet.Suspicion   `json:"suspect,omitempty"`
	Version      string             `json:"version,omitempty"` // of the agent
	Run          int                `json:"run"`               // the newest
	Changed      int64              `json:"changed"`           // the last run that changed something; 0 is never
	Zone         string             `json:"zone,omitempty"`    // time zone, such as Europe/Berlin; "" is unknown
}

// TargetPage is a page of the requested targets.
type TargetPage struct {
	Format  string   `json:"format"`
	Total   int      `json:"total"` // matching targets on all pages
	Targets []Target `json:"targets"`
	// Cursor requests the targets after this page; "" means that this is the last page.
	Cursor string `json:"cursor,omitempty"`
	// The counts are only in answers to requests with by. States are the numbers of the selected targets, also of
	// targets in other states than requested. Labels are the names of their labels. Groups begin with the largest one.
	States     map[State]int `json:"states,omitempty"`
	Labels     []string      `json:"labels,omitempty"`
	Groups     []TargetGroup `json:"groups,omitempty"`
	MoreGroups int           `json:"more_groups,omitempty"` // that are not in the answer
}

// TargetGroup is a group of targets with the numbers of targets in each state.
type TargetGroup struct {
	Name   string        `json:"name"` // the value of the label, the fleet or the module; "" means none
	Total  int           `json:"total"`
	States map[State]int `json:"states"`
}

// TargetDetail has all data about one target.
type TargetDetail struct {
	Format    string          `json:"format"`
	Target    Target          `json:"target"`
	Key       string          `json:"key"`
	Serials   []string        `json:"serials"`
	Token     string          `json:"token,omitempty"`
	Enrolled  int64           `json:"enrolled"`
	By        string          `json:"by,omitempty"`
	Issued    int64           `json:"issued"` // time of the assignment; 0 is never
	Withdrawn string          `json:"withdrawn,omitempty"`
	Root      *fleet.Revision `json:"top,omitempty"`
	// Modules are in the order of the assignment, followed by applied modules that are no longer
	// assigned.
	Modules []ModuleOnTarget  `json:"modules"`
	Facts   map[string]string `json:"facts,omitempty"`
	// Checks are the newest results of the checks of scopes that the target tests, sorted by scope and check.
	Checks []fleet.CheckResult `json:"checks,omitempty"`
	// Ahead is the difference to the hub's clock; 0 if it is small enough.
	Ahead  int64               `json:"clock_ahead_ns,omitempty"`
	Serves map[string][]string `json:"serves,omitempty"` // roles and groups of the repository
	// Environment is the name of the environment that contains it, or "".
	Environment string `json:"environment,omitempty"`
	// Element is the element of for_each that made the declaration of the target; nil: none made it, or it is not known.
	Element *TargetElement `json:"element,omitempty"`
	// Held is held content of its modules and of the root bundle.
	Held []fleet.HeldContent `json:"held,omitempty"`
	// Supervisor is the target in whose guest this target runs; nil: none is known.
	Supervisor *Supervisor `json:"supervisor,omitempty"`
	Guests     []Guest     `json:"guests,omitempty"`      // of this target, by name
	MoreGuests int         `json:"more_guests,omitempty"` // that it did not report
}

// TargetElement is an element of for_each that made a target. Long texts are cut.
type TargetElement struct {
	Block  string `json:"block"` // label of the target block
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"` // as JSON; "" if it is the key
	Source string `json:"source"`          // file:line of for_each
}

// String returns the element for users.
func (e TargetElement) String() string {
	text := fmt.Sprintf("element %q of target %q (%s)", e.Key, e.Block, e.Source)
	if e.Value != "" {
		text += ": " + e.Value
	}
	return text
}

// Guest is a guest of a target, such as a container of systemd-nspawn.
type Guest struct {
	Name   string           `json:"name"`
	State  fleet.GuestState `json:"state"`            // in the newest report; unknown if the target is unresponsive
	Target *GuestTarget     `json:"target,omitempty"` // the target that runs in the guest; nil: none is known
	// Conflict reports that no target is known because several guests or several targets report the same machine ID.
	Conflict bool `json:"conflict,omitempty"`
}

// GuestTarget is the target that runs in a guest.
type GuestTarget struct {
	ID    fleet.TargetID `json:"id"`
	Name  string         `json:"name"`
	State State          `json:"state"`
}

// Supervisor is the target in whose guest a target runs.
type Supervisor struct {
	ID         fleet.TargetID   `json:"id"`
	Name       string           `json:"name"`
	State      State            `json:"state"`
	Guest      string           `json:"guest"` // name of the guest on the supervisor
	GuestState fleet.GuestState `json:"guest_state"`
}

// ModuleOnTarget is the assigned and the applied revision of one module on one target.
type ModuleOnTarget struct {
	Module   string          `json:"module"` // the directory; "" is the root bundle
	Assigned *fleet.Revision `json:"assigned,omitempty"`
	Applied  string          `json:"applied,omitempty"` // a commit
	Behind   bool            `json:"behind"`
	State    fleet.Readiness `json:"state"`
	Since    int64           `json:"since"`
	Waits    string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
	Needs    []fleet.Need    `json:"needs"`
}

// FleetFreeze freezes all targets, including targets that join later.
type FleetFreeze struct {
	At     int64  `json:"at"`              // time of the command, ns since 1970
	Until  int64  `json:"until,omitempty"` // ns since 1970; 0 has no end
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Status summarises the fleet in numbers.
type Status struct {
	Format    string                 `json:"format"`
	Freeze    *FleetFreeze           `json:"freeze,omitempty"` // of the whole fleet
	Frozen    int                    `json:"frozen"`           // targets whose agents report a freeze
	Targets   int                    `json:"targets"`          // active
	Standings map[fleet.Standing]int `json:"standings"`
	States    map[State]int          `json:"states"` // of active targets
	Connected int                    `json:"connected"`
	Behind    int                    `json:"behind"` // targets with a module that is not applied as assigned
	Drift     int                    `json:"drift"`  // number of addresses
	Errors    int                    `json:"errors"` // number of targets with an error
	Pinned    int                    `json:"pinned"`
	Suspect   int                    `json:"suspect"`
	Modules   int                    `json:"modules"`
	Position  uint64                 `json:"position"` // in the log, of this hub's read model
}
