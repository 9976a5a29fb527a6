package document

import "fettle.dev/fettle/internal/fleet"

// ExplanationFormat is the format of why a target has a module, or has it not.
const ExplanationFormat = "fettle.fleet.explanation/2"

// Explanation is why a module on a target is as it is.
type Explanation struct {
	Format string         `json:"format"`
	ID     fleet.TargetID `json:"id"`
	Name   string         `json:"name"`
	// Module is the directory. One that is neither assigned nor applied has no State.
	Module   string          `json:"module"`
	State    fleet.Readiness `json:"state,omitempty"`
	Since    int64           `json:"since,omitempty"`
	Assigned *fleet.Revision `json:"assigned,omitempty"`
	Applied  string          `json:"applied,omitempty"` // a commit
	Behind   bool            `json:"behind"`
	Waits    string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
	Needs    []Needed        `json:"needs"`     // what it needs, as it is there
	NeededBy []Needed        `json:"needed_by"` // what of the target needs it
	// Because is why, a sentence a line, from the cause to what came of it. It is for
	// people.
	Reasons []string `json:"reasons"`
}

// Needed is the other end of a need.
type Needed struct {
	Module string          `json:"module"`
	Level  fleet.Level     `json:"level"`
	Layer  bool            `json:"layer,omitempty"` // all others need it
	State  fleet.Readiness `json:"state,omitempty"` // of Module, on this target
}
