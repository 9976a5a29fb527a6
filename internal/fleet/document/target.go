package document

import "fettle.dev/fettle/internal/fleet"

// Formats of what is told of targets.
const (
	TargetPageFormat   = "fettle.fleet.targets/1"
	TargetDetailFormat = "fettle.fleet.target/1"
	StatusFormat       = "fettle.fleet.status/1"
)

// State is a target in one word: the worst that is true of it.
type State string

// States of targets, the worst first. Those that are not active have their standing.
const (
	Cloned       State = "cloned"       // several hosts have its identity, so that its reports do not count
	Failed       State = "failed"       // a run or a module failed
	Unresponsive State = "unresponsive" // no hub has heard of it for too long
	Drifted      State = "drifted"      // something is other than applied
	Unknown      State = "unknown"      // it never reported
	Frozen       State = "frozen"       // frozen, or its assignment was withdrawn
	Deferred     State = "deferred"     // a module must not be applied before its time
	Applying     State = "applying"     // a run is under way
	Blocked      State = "blocked"      // a module waits for another; no error
	Unassigned   State = "unassigned"   // it has no assignment yet; no error
	Pending      State = "pending"      // something is assigned and not applied yet
	Ready        State = "ready"        // all that is assigned is applied and holds
	NotInFleet   State = "not-in-fleet" // not active; see its standing
)

// States are all of them, the worst first.
func States() []State {
	return []State{Cloned, Failed, Unresponsive, Drifted, Unknown, Frozen, Deferred, Applying, Blocked, Unassigned, Pending, Ready, NotInFleet}
}

// Order is a place in the order of assignments.
type Order struct {
	Epoch      uint64 `json:"epoch"`
	Generation uint64 `json:"generation"`
}

// Target is one target in a list.
type Target struct {
	ID        fleet.TargetID    `json:"id"`
	Name      string            `json:"name"`
	Fleet     string            `json:"fleet,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Standing  fleet.Standing    `json:"standing"`
	State     State             `json:"state"`
	Connected bool              `json:"connected"` // to any hub that this one knows of
	Contact   int64             `json:"contact"`   // when it was last heard of; 0 is never
	Assigned  Order             `json:"assigned"`
	Accepted  Order             `json:"accepted"`
	Modules   int               `json:"modules"` // that are assigned
	Behind    int               `json:"behind"`  // of them not applied as assigned
	Drift     int               `json:"drift"`   // addresses
	Error     string            `json:"error,omitempty"`
	Waits     string            `json:"waits,omitempty"` // for what, for people
	Frozen    string            `json:"frozen,omitempty"`
	Pin       *fleet.Pin        `json:"pin,omitempty"`
	Suspect   *fleet.Suspicion  `json:"suspect,omitempty"`
	Version   string            `json:"version,omitempty"` // of the agent
	Run       int               `json:"run"`               // the newest
	Changed   int64             `json:"changed"`           // the last run that changed something; 0 is never
}

// TargetPage is a part of the targets that were asked for.
type TargetPage struct {
	Format  string   `json:"format"`
	Total   int      `json:"total"` // that fit, on all pages
	Targets []Target `json:"targets"`
}

// TargetDetail is all that is known of one target.
type TargetDetail struct {
	Format    string              `json:"format"`
	Target    Target              `json:"target"`
	Key       string              `json:"key"`
	Serials   []string            `json:"serials"`
	Token     string              `json:"token,omitempty"`
	Enrolled  int64               `json:"enrolled"`
	By        string              `json:"by,omitempty"`
	Issued    int64               `json:"issued"` // the assignment; 0 is never
	Withdrawn string              `json:"withdrawn,omitempty"`
	Top       *fleet.Revision     `json:"top,omitempty"`
	Modules   []ModuleOnTarget    `json:"modules"` // in the order of the assignment, then what is left of others
	Facts     map[string]string   `json:"facts,omitempty"`
	Ahead     int64               `json:"clock_ahead_ns,omitempty"` // of the hub's; 0 is well enough
	Serves    map[string][]string `json:"serves,omitempty"`         // roles and groups of the repository
}

// ModuleOnTarget is one module on one target: what is assigned, and what is applied.
type ModuleOnTarget struct {
	Module   string          `json:"module"` // the directory; "" is all that is no module
	Assigned *fleet.Revision `json:"assigned,omitempty"`
	Applied  string          `json:"applied,omitempty"` // a commit
	Behind   bool            `json:"behind"`
	State    fleet.Readiness `json:"state"`
	Since    int64           `json:"since"`
	Waits    string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
	Needs    []fleet.Need    `json:"needs"`
}

// FleetFreeze keeps all targets from changing, also those that join later.
type FleetFreeze struct {
	At     int64  `json:"at"`              // when it was ordered, ns since 1970
	Until  int64  `json:"until,omitempty"` // ns since 1970; 0 has no end
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Status is the fleet in numbers.
type Status struct {
	Format    string                 `json:"format"`
	Freeze    *FleetFreeze           `json:"freeze,omitempty"` // of the whole fleet
	Frozen    int                    `json:"frozen"`           // targets whose agents hold a freeze
	Targets   int                    `json:"targets"`          // active
	Standings map[fleet.Standing]int `json:"standings"`
	States    map[State]int          `json:"states"` // of active ones
	Connected int                    `json:"connected"`
	Behind    int                    `json:"behind"` // targets with a module that is not applied as assigned
	Drift     int                    `json:"drift"`  // addresses
	Errors    int                    `json:"errors"` // targets with one
	Pinned    int                    `json:"pinned"`
	Suspect   int                    `json:"suspect"`
	Modules   int                    `json:"modules"`
	Position  uint64                 `json:"position"` // in the log, of this hub's read model
}
