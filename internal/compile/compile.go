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
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
	"github.com/zclconf/go-cty/cty"
)

// Input is all that a list depends on.
type Input struct {
	Tree repo.Tree
	// Target is the name of a target that the repository declares. "" is the
	// only one there is, an error when there are several.
	Target string
	// Facts are what is known of the target, by name. Only those that the
	// repository declares as inputs are used.
	Facts map[string]cty.Value
	// Vars are variables from the command line, the highest layer. They are
	// text, converted to the declared type.
	Vars map[string]string
	// Outputs are the outputs of commands that are known, by address. They count
	// as facts do.
	Outputs map[addr.Addr]string
	// NeedSecrets makes a secret that cannot be opened a mistake. Otherwise a
	// placeholder stands for it, and a warning says so.
	NeedSecrets bool
}

// Result is the list and what explains it.
type Result struct {
	Target string
	List   step.List
	// Policy is how the repository wants runs of the target to behave.
	Policy catalog.Policy
	// Blobs by digest: all content that the steps of List name. Of a secret it is
	// sealed.
	Blobs map[string]kind.Blob
	// States say which state gave which steps, in list order.
	States []StateInfo
	// FactsUsed are the names of the facts that the repository declares, sorted.
	FactsUsed []string
	// Files are the paths of the repository that took part, sorted.
	Files []string
	// Outputs are the commands whose output the repository uses, sorted by address,
	// and Held the states that are left out until more of it is known, in order of
	// declaration. Where something is held, so are all checks.
	Outputs []Output
	Held    []Held
	// Exports are what the modules of the target export, sorted. One whose value only a run
	// gives is missing.
	Exports []exported.Own
	// Secrets is what a machine needs to use what is sealed. Whoever opened the
	// secrets for the compiler fills it in.
	Secrets secret.Bundle
}

// Output is a command whose output is used.
type Output struct {
	Addr addr.Addr
	Step string // its line; what another line gave is not its output
}

// Held is a state that only a run can complete.
type Held struct {
	ID    string
	Range diag.Range
	Addr  addr.Addr   // what it writes, "" where that is not known either
	Needs []addr.Addr // commands; empty for a state that is after one that is held
	// Waits says which values of other targets it waits for: "known when …".
	Waits string `json:",omitempty"`
}

// StateInfo ties a state to its place in the source and its steps.
type StateInfo struct {
	ID    string
	Range diag.Range
	// Steps are indexes into Result.List.
	Steps []int
}
