package document

import "fettle.dev/fettle/internal/fleet"

// ExplanationFormat is the format of Explanation.
const ExplanationFormat = "fettle.fleet.explanation/2"

// Explanation has the reasons for the state of a module on a target.
type Explanation struct {
	Format string         `json:"format"`
	ID     fleet.TargetID `json:"id"`
	Name   string         `json:"name"`
	// Module is the directory. A module that is neither assigned nor applied has no State.
	Module   string          `json:"module"`
	State    fleet.Readiness `json:"state,omitempty"`
	Since    int64           `json:"since,omitempty"`
	Assigned *fleet.Revision `json:"assigned,omitempty"`
	Applied  string          `json:"applied,omitempty"` // a commit
	Behind   bool            `json:"behind"`
	Waits    string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
	Needs    []Needed        `json:"needs"`     // the modules that it needs
	NeededBy []Needed        `json:"needed_by"` // the modules of the target that need it
	// LockWaits are the locks for whose slots the target waits, for example to reboot.
	LockWaits []LockWait `json:"lock_waits"`
	// Reasons are sentences, from the cause to its effect, for display.
	Reasons []string `json:"reasons"`
}

// Needed is the other end of a need.
type Needed struct {
	Module string          `json:"module"`
	Level  fleet.Level     `json:"level"`
	Layer  bool            `json:"layer,omitempty"` // all other modules need it
	State  fleet.Readiness `json:"state,omitempty"` // of Module, on this target
}
