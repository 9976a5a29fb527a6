package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// maxInvocations is the maximum depth of defined kinds that use each other.
const maxInvocations = 32

// evaluator makes the catalog of one target.
type evaluator struct {
	reports
	prog    *Program
	in      Input
	cat     *catalog.Catalog
	target  cty.Value
	modules map[string]*scope // by name
	stack   []frame           // values that are being evaluated
	trail   *trail            // nil: no other target is made of it
	edges   []pendingEdge
	trigs   []pendingTrigger
	always  []pendingEdge // of blocks, to the states whose actions are their always part
	count   int           // states
	full    bool
	all     []*scope // the top level and the modules, in order
	owners  owners
	factSet map[*body]map[string]cty.Value
	outputs map[string]string // of a test, by state
	asked   map[string]bool   // states whose output is used
	uses    []*moduleUse
	needsOf map[*moduleUse][]resolved
	// exported are the values of other targets, by declared input.
	exported map[*Exported]*exportedMemo
}

// frame is one value in the current evaluation, for messages about cycles.
type frame struct {
	memo *memo
	name string
	rng  diag.Range
	mark int // of the trail
}

// scope is a namespace: a module, or one invocation of a defined kind.
type scope struct {
	body      *body
	prefix    string // of the IDs of its states
	name      string // for messages: "module web"
	directory *directory
	fctx      *hcl.EvalContext
	vars      map[string]cty.Value
	varObj    cty.Value
	facts     map[string]cty.Value
	locals    map[string]*memo
	outputs   map[string]*memo
	states    map[string]map[string]*state
	blocks    map[string]*state
	order     []*state
	layers    []layer // of a module's variables
	assigned  bool    // every variable has a good value
	depth     int
	call      *instance // the invocation whose content it is; nil for a module
	source    string    // the source map of everything inside, "" for its own lines
	trace     []diag.Range
	params    *scope // of an action that is called
	node      int    // node of its group; -1 if there is none or it is off
}

// state is a declaration in a scope. It has one instance, or one for each key.
type state struct {
	decl     *decl
	scope    *scope
	kind     *kind.Kind
	def      *define
	members  []*state // of a block
	parent   *state   // the block that it is in
	each     bool     // for_each is given
	keys     []*instance
	byKey    map[string]*instance
	expanded bool
	bad      bool
	unknown  bool // only a run decides whether it exists, or its instances
	node     int
}

// instance is one state of the future catalog.
type instance struct {
	st      *state
	id      string
	key     string
	each    map[string]cty.Value // each.key and each.value, nil without for_each
	vals    map[string]*memo
	inner   *scope // of an invocation of a defined kind
	opened  bool
	opening bool // its attributes are being evaluated
	node    int
}

// memo is a value that is evaluated once, with its references.
type memo struct {
	done, busy, ok bool
	own            bool // it depends on the target itself: see trail
	val            cty.Value
	refs           []ref
}

// ref is a reference to something in the catalog.
type ref struct {
	scope *scope
	state *state
	inst  *instance
	rng   diag.Range
}

// node is the index in the catalog; -1 for a state that is off.
func (r ref) node() int {
	switch {
	case r.inst != nil:
		return r.inst.node
	case r.state != nil:
		return r.state.node
	}
	return r.scope.node
}

type pendingEdge struct {
	node  int
	other ref
	after bool // node is after other
	why   string
}

type pendingTrigger struct {
	from, to  ref
	action    string
	immediate bool
	failure   bool
	rescue    bool
	rng       diag.Range
}

func (ev *evaluator) newScope(b *body, prefix, name string) *scope {
	s := &scope{body: b, prefix: prefix, name: name, directory: b.directory, node: -1,
		locals: map[string]*memo{}, outputs: map[string]*memo{}, states: map[string]map[string]*state{}, blocks: map[string]*state{}}
	s.fctx = ev.prog.functions(b.directory)
	ev.declare(s, b.decls, nil)
	return s
}

// declare registers declarations by name before any evaluation, so that references can point
// forward.
func (ev *evaluator) declare(s *scope, decls []*decl, parent *state) {
	for _, d := range decls {
		st := &state{decl: d, scope: s, parent: parent, node: -1}
		if !ev.resolveKind(st) {
			continue
		}
		byLabel := s.states[d.kind]
		if byLabel == nil {
			byLabel = map[string]*state{}
			s.states[d.kind] = byLabel
		}
		if old := byLabel[d.label]; old != nil {
			ev.errorf(d.labels[0], "State declared twice", "%s %q is already declared at %s. Use a different label.", d.kind, d.label, old.decl.rng)
			continue
		}
		byLabel[d.label] = st
		if parent == nil {
			s.order = append(s.order, st)
		} else {
			parent.members = append(parent.members, st)
		}
		ev.declare(s, d.members, st)
	}
}

// resolveKind finds the kind of a declaration: in Go, in the standard library, at the repository's
// top, or in the module itself.
func (ev *evaluator) resolveKind(st *state) bool {
	d := st.decl
	if d.group {
		return true
	}
	if k := ev.prog.kinds[d.kind]; k != nil {
		st.kind = k
		return true
	}
	_, ds := ev.prog.libraryKind(d.kind)
	ev.add(ds...)
	for _, defs := range []map[string]*define{st.scope.body.defines, ev.prog.library.defines, ev.prog.root.defines, ev.definesAround(st.scope)} {
		if def := defs[d.kind]; def != nil {
			st.def, st.kind = def, def.schema()
			return true
		}
	}
	ev.errorf(d.kindRng, "Unknown kind", "There is no kind %q.%s", d.kind, kindHint(d.kind, ev.prog.KindNames()))
	return false
}

// definesAround returns the kinds of the module in whose directory a defined kind is declared. One
// kind of a module can use another kind through it.
func (ev *evaluator) definesAround(s *scope) map[string]*define {
	if b := ev.prog.modules[s.body.directory.dir]; b.body != nil && b.body.directory == s.body.directory {
		return b.body.defines
	}
	return nil
}

// open returns the scope of an invocation of a defined kind, made once.
func (ev *evaluator) open(in *instance) *scope {
	if in.opening {
		ev.errorf(in.st.decl.rng, "Cyclic values",
			"An attribute of %s depends on an output of the same state. Break the cycle, for example with a local.", in.id)
		return nil
	}
	if !in.opened {
		mark := ev.mark()
		in.opened, in.opening = true, true
		in.inner = ev.inside(in)
		in.opening = false
		ev.decided(unit{inner: in.inner}, mark)
	}
	return in.inner
}

// inside returns the scope of an invocation of a defined kind; nil after a diagnostic.
func (ev *evaluator) inside(in *instance) *scope {
	st := in.st
	if st.scope.depth >= maxInvocations {
		ev.errorf(st.decl.rng, "Kinds nested too deeply",
			"Defined kinds can use each other at most %d levels deep. Check for a kind that uses itself.", maxInvocations)
		return nil
	}
	s := ev.newScope(st.def.body, in.id+"/", st.decl.kind+" "+st.decl.label)
	s.depth, s.call = st.scope.depth+1, in
	s.source = st.scope.source
	s.trace = append([]diag.Range{st.decl.rng}, st.scope.trace...)
	if st.def.stdlib {
		s.directory, s.fctx = st.scope.directory, st.scope.fctx
		if s.source == "" {
			s.source = sourceOf(st.decl.rng)
		}
	}
	s.facts = ev.factsOf(s.body)
	s.vars = map[string]cty.Value{}
	ok := true
	for _, a := range st.kind.Attrs {
		m := ev.attr(in, a.Name)
		ok = ok && m.ok
		if m.ok {
			s.vars[a.Name] = m.val
		}
	}
	s.varObj = cty.ObjectVal(s.vars)
	if ok && ev.validate(s) {
		return s
	}
	return nil
}

func sourceOf(r diag.Range) string { return r.File + ":" + itoa(r.Start.Line) }

// module returns the scope of the module, or of the top level, that contains a scope.
func (s *scope) module() *scope {
	for s.call != nil {
		s = s.call.st.scope
	}
	return s
}
