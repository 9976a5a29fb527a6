package document

import "fettle.dev/fettle/internal/fleet"

// Formats of documents about modules.
const (
	ModulePageFormat   = "fettle.fleet.modules/1"
	ModuleDetailFormat = "fettle.fleet.module/1"
)

// Module summarises one module over all active targets.
type Module struct {
	Module    string                  `json:"module"`
	Targets   int                     `json:"targets"` // to which it is assigned
	Behind    int                     `json:"behind"`
	Errors    int                     `json:"errors"`
	States    map[fleet.Readiness]int `json:"states"`
	Revisions []RevisionCount         `json:"revisions"` // assigned or applied, the most assigned first
}

// RevisionCount is the number of targets to which a revision is assigned, and of targets that have
// applied it.
type RevisionCount struct {
	Commit   string `json:"commit"`
	Subject  string `json:"subject,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Assigned int    `json:"assigned"`
	Applied  int    `json:"applied"`
}

// ModulePage has all modules.
type ModulePage struct {
	Format  string   `json:"format"`
	Modules []Module `json:"modules"`
}

// ModuleDetail is one module with its targets, the worst first.
type ModuleDetail struct {
	Format  string           `json:"format"`
	Module  Module           `json:"module"`
	Total   int              `json:"total"`
	Targets []TargetOfModule `json:"targets"`
	// Held is held content of the module.
	Held []fleet.HeldContent `json:"held,omitempty"`
}

// TargetOfModule is one target to which a module is assigned.
type TargetOfModule struct {
	ID       fleet.TargetID  `json:"id"`
	Name     string          `json:"name"`
	State    fleet.Readiness `json:"state"`
	Assigned string          `json:"assigned"`
	Applied  string          `json:"applied,omitempty"`
	Behind   bool            `json:"behind"`
	Since    int64           `json:"since"`
	Waits    string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
}
