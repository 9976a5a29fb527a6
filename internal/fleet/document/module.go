package document

import "fettle.dev/fettle/internal/fleet"

// Formats of what is told of modules.
const (
	ModulePageFormat   = "fettle.fleet.modules/1"
	ModuleDetailFormat = "fettle.fleet.module/1"
)

// Module is one module over all active targets.
type Module struct {
	Module    string                  `json:"module"`
	Targets   int                     `json:"targets"` // that it is assigned to
	Behind    int                     `json:"behind"`
	Errors    int                     `json:"errors"`
	States    map[fleet.Readiness]int `json:"states"`
	Revisions []RevisionCount         `json:"revisions"` // assigned or applied, the most assigned first
}

// RevisionCount is how many targets should have a revision, and how many have it.
type RevisionCount struct {
	Commit   string `json:"commit"`
	Subject  string `json:"subject,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Assigned int    `json:"assigned"`
	Applied  int    `json:"applied"`
}

// ModulePage is all modules.
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
}

// TargetOfModule is one target that a module is assigned to.
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
