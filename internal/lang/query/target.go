// Package query finds the content of a repository without facts: targets with their levels, modules
// and needs, actions, commands, lookups and kinds.
//
//	targets, ds := query.Targets(p)
//	runnable, ds := query.FindRunnable(p, query.Builtin{})
//
// It evaluates only expressions that depend on no fact and no variable.
package query

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/window"
)

// LocalTarget is the target of a repository that declares none.
const LocalTarget = "local"

// Target is the description of a target that needs no facts.
type Target struct {
	Name   string
	Labels map[string]string
	Roles  []string // each after the roles it includes
	Groups []string // target groups, in the order of their declaration
	// Environment is the name of its environment, "" if it belongs to none.
	Environment string   `json:",omitempty"`
	Modules     []string // directories in the repository
	// Uses are the modules with their origins and needs. Targets with the same uses can share the
	// slices, which are read-only. They are not stored as JSON, which shares nothing.
	Uses []Use `json:"-"`
	// Errors are the errors in the modules and in their needs, as text for users. Compiling the
	// target reports them with their places.
	Errors []string
	// Enrolled is set if an enrolled block names it, Declared if a target block does.
	Enrolled, Declared bool
	SSH                *SSH // ssh settings; nil: it is the local host
	// Strategy is the name of the rollout strategy that policies give it, or of the default. It is
	// declared or built in.
	Strategy string
	// Windows are the windows for changes that policies give it, sorted by name.
	Windows []window.Window `json:",omitempty"`
	Range   diag.Range
	// Element is the element of for_each that made it, nil for other targets.
	Element *Element `json:",omitempty"`
}
