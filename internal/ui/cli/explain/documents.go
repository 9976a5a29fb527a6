package explain

import (
	"fettle.dev/fettle/internal/ui/cli"
)

// ExplainDoc leads from a thing on a machine to its source, and back.
type ExplainDoc struct {
	Format    string          `json:"format"` // fettle.explain/2
	What      string          `json:"what"`
	Items     []explanation   `json:"items,omitempty"`
	Variables []cli.Variable  `json:"variables,omitempty"`
	Modules   []usedModuleDoc `json:"modules,omitempty"`
	Target    *targetDoc      `json:"target,omitempty"`
	Scope     *scopeDoc       `json:"scope,omitempty"`
}

// usedModuleDoc says why a target has a module.
type usedModuleDoc struct {
	Module    string `json:"module"`
	Directory string `json:"directory"`
	Version   string `json:"version,omitempty"` // that it declares
	Target    string `json:"target"`
	Element   string `json:"element,omitempty"` // key of the element of for_each
	// Parameters are each.value of the element as JSON, cut if it is long.
	Parameters string     `json:"parameters,omitempty"`
	Given      []givenDoc `json:"given_by"`
	Needs      []needDoc  `json:"needs,omitempty"`
	// NeededBy are the modules of the target that need it.
	NeededBy []needDoc `json:"needed_by,omitempty"`
	// Errors are the configuration errors of all modules of the target.
	Errors []string `json:"errors,omitempty"`
}

type givenDoc struct {
	By     string `json:"by"`     // role web, target group prod, target
	Source string `json:"source"` // file:line
}

// needDoc is a need, with the module at its other end.
type needDoc struct {
	Module  string `json:"module"`
	Level   string `json:"level"`
	Version string `json:"version,omitempty"` // the constraint on its version
	Layer   string `json:"layer,omitempty"`   // the level that imposes it
	Source  string `json:"source"`
}

// targetDoc says which block of the repository declares a target, and its properties without facts.
type targetDoc struct {
	Target  string `json:"target"`
	Source  string `json:"source,omitempty"`  // file:line of the block; "" for the implicit target
	Block   string `json:"block,omitempty"`   // label of the block with for_each that made it
	Element string `json:"element,omitempty"` // key of the element of for_each
	// Parameters are each.value of the element as JSON, cut if it is long.
	Parameters string            `json:"parameters,omitempty"`
	Enrolled   bool              `json:"enrolled,omitempty"`
	Labels     map[string]string `json:"labels"`
	Roles      []string          `json:"roles,omitempty"`
	Groups     []string          `json:"groups,omitempty"`
	// Environment is the name of its environment, "" if it belongs to none.
	Environment string   `json:"environment,omitempty"`
	Modules     []string `json:"modules,omitempty"` // names
	Errors      []string `json:"errors,omitempty"`
}

// scopeDoc says which block of the repository declares a scope, and its properties without hosts.
type scopeDoc struct {
	Scope   string `json:"scope"`             // KIND/NAME
	Source  string `json:"source"`            // file:line of the block
	Block   string `json:"block,omitempty"`   // label of the block with for_each that made it
	Element string `json:"element,omitempty"` // key of the element of for_each
	// Parameters are each.value of the element as JSON, cut if it is long.
	Parameters string   `json:"parameters,omitempty"`
	Parent     string   `json:"parent,omitempty"` // of an environment
	Domain     string   `json:"domain,omitempty"`
	Members    []string `json:"members"` // names of targets that the repository declares, or scopes
	Checks     []string `json:"checks"`
	Tasks      []string `json:"tasks"`
}
