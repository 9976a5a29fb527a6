package cli

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

// Language reads repositories and compiles lists. Answers and functions are pure.
type Language struct {
	// Queries answers one question after another.
	Queries compile.Answerer
	// Parallel answers questions of several goroutines at once; nil: Queries.
	Parallel compile.Answerer
	// Sealed is like Parallel, but all secrets are placeholders, as in tests; nil: Queries.
	Sealed compile.Answerer
	// Limit sets the time limit and the memory limit of the compiler, in bytes, before a repository is
	// read; 0 is the default. nil: the compiler has no limits.
	Limit func(timeout time.Duration, memory int64)
	// Secrets sets the identities that decrypt secrets, before a repository is read; nil: the compiler
	// has no secrets.
	Secrets func(ids func() (vault.Identities, error))
	// Prepare starts the compiler, because a question follows soon. It may be nil.
	Prepare func()
	// Fleet compiles many targets, with their lists or only the digests of the lists; it ignores
	// the target of the input. A target with an error is missing in the result. nil: one target after
	// another.
	Fleet func(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List)
	// Names are the names of the targets of two revisions of a repository, in any order. Diff compares
	// the lists of targets at both, some at a time and in their order. Its errors can differ from the
	// errors of a compilation, so callers compile to report them. nil: one target after another.
	Names func(before, now repo.Tree) ([2][]string, [2]diag.List)
	Diff  func(before repo.Tree, in compile.Input, targets []compile.Compared) iter.Seq2[[]compile.Difference, diag.List]
	// Format gives the canonical form of one source file.
	Format func(path string, src []byte) ([]byte, diag.List)
	// Kinds are the kinds of states that are built in, sorted by name.
	Kinds func() []kind.Kind
}

// Compile compiles one list.
func (l Language) Compile(in compile.Input) (compile.Result, diag.List) {
	return compile.Ask(l.Queries, compile.ListQuery{Input: in})
}

// Inventory returns the known data of the targets except facts, with the address of each, sorted by
// name; nil if a target has an error.
func (l Language) Inventory(tree repo.Tree) ([]query.Target, diag.List) {
	list, ds := compile.Ask(l.Queries, compile.TargetsQuery{About: compile.About{Tree: tree}})
	slices.SortFunc(list, func(a, b query.Target) int { return cmp.Compare(a.Name, b.Name) })
	return list, ds
}

// Targets returns the names of the targets that a repository declares, sorted.
func (l Language) Targets(tree repo.Tree) (names []string, ds diag.List) {
	list, ds := l.Inventory(tree)
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, ds
}

// Variable is one variable in the output of explain var.
type Variable struct {
	Module string  `json:"module"` // "the top level" or "module web"
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Value  string  `json:"value,omitempty"` // as JSON; "" when it has none
	Source string  `json:"source"`          // where it is declared, file:line
	Layers []Layer `json:"layers"`
}

// Layer is one place that sets a variable.
type Layer struct {
	// Name is default, repository, role web, target group prod, a data file,
	// target, module block or command line.
	Name   string `json:"name"`
	Value  string `json:"value"`            // as JSON
	Merge  string `json:"merge,omitempty"`  // shallow or deep: the value is merged into those before it
	Source string `json:"source,omitempty"` // file:line; "" for the command line
}
