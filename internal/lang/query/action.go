package query

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
)

// Action is an operation on a target that does not belong to its desired state. It runs when a user
// requests it, and does not change the applied state.
type Action struct {
	Name string
	// Module is the module that declares the action, "" for the top level.
	Module string
	Doc    string
	// Changes is false if the action only reads.
	Changes bool
	// DryRun is set if the action has commands that show its effect in advance.
	DryRun bool
	// JSON is set if the action prints JSON: objects, shown as rows of a table.
	JSON   bool
	Params []Param
	Range  diag.Range
}

// ID returns the name that is unique in the repository: MODULE.NAME, or NAME for an action of the
// top level.
func (a Action) ID() string {
	if a.Module == "" {
		return a.Name
	}
	return a.Module + "." + a.Name
}

// DescribeAction returns the description of an action, without its module.
func DescribeAction(p *source.Program, a *source.Action) Action {
	return Action{Name: a.Name, Doc: a.Doc, Changes: a.Changes, DryRun: a.Attributes["dry_run"] != nil, JSON: a.JSON,
		Params: ParamsOf(p, a.Params), Range: a.Range}
}

// Check returns the errors in parameters, before any target is known.
func (a Action) Check(params map[string]string) diag.List {
	return CheckParams(fmt.Sprintf("the action %q", a.Name), a.ID(), a.Params, params)
}
