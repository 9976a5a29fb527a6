package eval

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Evaluator makes the catalog of one target.
type Evaluator struct {
	syntax.Reports
	Program *source.Program
	in      Input
	Catalog *catalog.Catalog
	Target  cty.Value
	// Environment is the value of environment. It is the same for targets with the same levels.
	Environment cty.Value
	modules     map[string]*Scope // by name
	stack       []frame           // values that are being evaluated
	observed    observed
	pending     pending
	count       int // states
	full        bool
	All         []*Scope // the top level and the modules, in order
	owners      owners
	factSet     map[*source.Body]map[string]cty.Value
	outputs     map[string]string // of a test, by state
	asked       map[string]bool   // states whose output is used
	uses        []*source.ModuleUse
	repeated    map[string]bool // labels of module blocks with for_each, also without elements
	needsOf     map[*source.ModuleUse][]query.ResolvedNeed
	// exported are the values of other targets, by declared input.
	exported map[*source.Exported]*exportedMemo
}

// frame is one value in the current evaluation, for messages about cycles.
type frame struct {
	memo *Memo
	name string
	rng  diag.Range
	mark int // of the observer
}

// Input is, in addition to the repository, the input of one target's catalog.
type Input struct {
	Target string // "" selects the only target
	Facts  map[string]cty.Value
	Vars   map[string]string // the command line's variables
	// Outputs are the outputs of commands that are known, by address.
	Outputs map[addr.Addr]string
	// ReportedFacts means that Facts are only the facts that the agent of the target reported. Then defaults do not
	// replace missing facts: the target can have values for them.
	ReportedFacts bool
	// Test, if not nil, provides the target, labels, facts and variables instead of Target and
	// Facts.
	Test *source.Test
}

// exportedMemo is the evaluated value of a declared input.
type exportedMemo struct {
	val cty.Value
	ok  bool
}

// owners maps a name that exists only in the list, such as the name of an exec, to the module that
// owns it: the first module of the target that declares it. In another module, the same name gets
// the prefix of that module. Independent modules therefore do not clash, and a module that is added
// at the end renames nothing.
type owners map[string]string // prefix of the module, by kind and label
