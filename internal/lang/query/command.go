package query

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
)

// Command is an operation that a user starts in the repository. It consists of parts, run one after
// another, each with an action or a program on some targets. An Action, in contrast, runs on one
// target and has no access to others.
type Command struct {
	Name, Doc string
	Params    []Param
	Parts     []string // their names, in order
	Range     diag.Range
	// Errors are the errors of the declaration. A command with errors cannot run.
	Errors diag.List
}

// Part is one part of a command on some targets, with the evaluated parameters.
type Part struct {
	Name string
	// Targets are words of a selection. If there are none, the user selects the targets.
	Targets []string
	// Action is the action that runs, with Params. If it is "", Argv runs.
	Action string
	Params map[string]string
	// Secret are the names of Params that a user typed as a secret.
	Secret []string
	// Argv has one or several commands. The fields below describe how they run.
	Argv      [][]string
	Env       []string // NAME=VALUE
	Dir, User string
	Timeout   time.Duration // 0: not set
	ReadOnly  bool
	// Batch and MaxFailed are amounts, such as 5 or 10%; "" for a batch of all.
	Batch, MaxFailed string
	Range            diag.Range
}

func describeCommand(p *source.Program, c *source.Command) Command {
	out := Command{Name: c.Name, Doc: c.Doc, Params: ParamsOf(p, c.Params), Range: c.Range}
	for _, x := range c.Parts {
		out.Parts = append(out.Parts, x.Name)
	}
	return out
}

// keysIn returns the keys that an object expression writes literally. ok is false if an expression
// computes a key.
func keysIn(e hclsyntax.Expression) (names []string, ok bool) {
	items, hds := hcl.ExprMap(e)
	if hds.HasErrors() {
		return nil, false
	}
	for _, it := range items {
		v, kds := it.Key.Value(nil)
		if kds.HasErrors() || v.IsNull() || v.Type() != cty.String {
			return nil, false
		}
		names = append(names, v.AsString())
	}
	return names, true
}
