// Package compile turns a repository into the list of one target: a pure
// function of the tree, the target's name, the facts it declares and the
// parameters given. The same inputs give the same bytes on any machine.
//
//	res, ds := compile.Compile(compile.Input{Tree: tree, Target: "web1", Facts: facts})
//	fmt.Print(res.List)
package compile

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
	"github.com/zclconf/go-cty/cty"
)

// Input is all that a list depends on.
type Input struct {
	Tree repo.Tree
	// Target is the name of a declared target. "" means the only one; it is an error if there are
	// several.
	Target string
	// Facts are the known facts of the target, by name. Only facts that the repository declares as
	// inputs are used.
	Facts map[string]cty.Value
	// Vars are variables from the command line, the highest layer. They are
	// text, converted to the declared type.
	Vars map[string]string
	// Outputs are the known outputs of commands, by address. They are inputs like facts.
	Outputs map[addr.Addr]string
	// NeedSecrets makes a secret that cannot be decrypted an error. Otherwise a placeholder
	// replaces it, with a warning.
	NeedSecrets bool
	// ReportedFacts means that Facts are only the facts that the agent of the target reported: any other fact that
	// the configuration uses is an error, even if it has a default.
	ReportedFacts bool
}

func (in Input) lang() eval.Input {
	return eval.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars, Outputs: in.Outputs,
		ReportedFacts: in.ReportedFacts}
}

// Result is the list with its explanation.
type Result struct {
	Target string
	List   step.List
	// Policy is the repository's policy for runs of the target.
	Policy catalog.Policy
	// Blobs by digest: all content that the steps of List name. Content with a secret is sealed.
	Blobs map[string]kind.Blob
	// States maps states to their steps, in list order.
	States []StateInfo
	// FactsUsed are the names of the facts that the repository declares, sorted.
	FactsUsed []string
	// Files are the paths of the repository that the result depends on, sorted.
	Files []string
	// Outputs are the commands whose output the repository uses, sorted by address. Deferred are the
	// deferred states, which need more outputs, in order of declaration. If any state is deferred,
	// all checks are deferred too.
	Outputs  []Output
	Deferred []Deferred
	// Exports are the exported values of the target's modules, sorted. A value that only a run
	// provides is missing.
	Exports []exported.Own
	// Secrets has the keys that a host needs for the sealed content. The caller that decrypted the
	// secrets for the compiler fills it in.
	Secrets secret.Bundle
}

// Output is a command whose output is used.
type Output struct {
	Addr addr.Addr
	Step step.Step // outputs of a different step are not used
}

// Deferred is a state that only a run can complete.
type Deferred struct {
	ID    string
	Range diag.Range
	Addr  addr.Addr   // the address that it writes, "" if it is unknown
	Needs []addr.Addr // commands; empty for a state after a deferred state
	// WaitsFor names the values of other targets that it waits for: "waiting for …".
	WaitsFor string `json:",omitempty"`
}

// StateInfo ties a state to its place in the source and its steps.
type StateInfo struct {
	ID    string
	Range diag.Range
	// Steps are indexes into Result.List.
	Steps []int
	// After are the IDs of the states that the source orders before this one, in the order of the list.
	After []string `json:",omitempty"`
}
