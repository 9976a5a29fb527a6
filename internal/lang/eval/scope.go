package eval

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
)

// Scope is a namespace: a module, or one invocation of a defined kind.
type Scope struct {
	body      *source.Body
	Prefix    string // of the IDs of its states
	instance  bool   // of a module block with for_each
	name      string // for messages: "module web"
	Directory *source.Directory
	fctx      *hcl.EvalContext
	Vars      map[string]cty.Value
	varObj    cty.Value
	Facts     map[string]cty.Value
	Locals    map[string]*Memo
	Outputs   map[string]*Memo
	states    map[string]map[string]*State
	blocks    map[string]*State
	Order     []*State
	layers    []VariableLayer // of a module's variables
	Assigned  bool            // every variable has a good value
	depth     int
	Call      *Instance // the invocation whose content it is; nil for a module
	source    string    // the source map of everything inside, "" for its own lines
	trace     []diag.Range
	params    *Scope // of an action that is called
	node      int    // node of its group; -1 if there is none or it is off
}

// State is a declaration in a scope. It has one instance, or one for each key.
type State struct {
	decl     *source.Declaration
	Scope    *Scope
	kind     *kind.Kind
	Define   *source.Define
	Members  []*State // of a block
	parent   *State   // the block that it is in
	each     bool     // for_each is given
	Keys     []*Instance
	byKey    map[string]*Instance
	expanded bool
	bad      bool
	unknown  bool // only a run decides whether it exists, or its instances
	node     int
}

// Instance is one state of the future catalog.
type Instance struct {
	State   *State
	ID      string
	key     string
	Each    map[string]cty.Value // each.key and each.value, nil without for_each
	Values  map[string]*Memo
	Inner   *Scope // of an invocation of a defined kind
	opened  bool
	opening bool // its attributes are being evaluated
	Node    int
}

// Memo is a value that is evaluated once, with its references.
type Memo struct {
	Done, busy, OK bool
	Own            bool // it depends on the target itself: the observer sets it
	Value          cty.Value
	refs           []reference
}

// reference is a reference to something in the catalog.
type reference struct {
	scope    *Scope
	state    *State
	instance *Instance
	rng      diag.Range
}

// node is the index in the catalog; -1 for a state that is off.
func (r reference) node() int {
	switch {
	case r.instance != nil:
		return r.instance.Node
	case r.state != nil:
		return r.state.node
	}
	return r.scope.node
}

// Module returns the scope of the module, or of the top level, that contains a scope.
func (s *Scope) Module() *Scope {
	for s.Call != nil {
		s = s.Call.State.Scope
	}
	return s
}

// VariableLayer is one source of variables, from low to high.
type VariableLayer struct {
	name   string
	values map[string]layerValue
	merge  map[string]string // how values merge with lower layers
}

type layerValue struct {
	val  cty.Value
	rng  diag.Range
	from string // the element and snapshots that it is made of, for explain
	text bool   // from the command line: text of the language or a plain text
}

// ID returns the unique name of a state, with the prefix of its module.
func (st *State) ID() string { return st.Scope.Prefix + refName(st.decl.Kind, st.decl.Label) }

// refName returns KIND.LABEL. The label is in brackets if it is not an identifier.
func refName(kindName, label string) string {
	if hclsyntax.ValidIdentifier(label) {
		return kindName + "." + label
	}
	return kindName + "[" + strconv.Quote(label) + "]"
}
