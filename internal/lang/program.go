// Package lang is the language: HCL text becomes the catalog of a target.
//
//	p, ds := lang.Load(tree, lang.Options{Kinds: kinds.All(), Stdlib: stdlib.Files()})
//	c, ds := p.Catalog(lang.Input{Target: "web1", Facts: facts})
//
// It is pure: files are read only from the tree, and the result does not depend on clock,
// environment or map order. Bad input gives diagnostics with a place, never a panic. Texts that
// would crash the parser are refused first.
package lang

import (
	"io/fs"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// Options are the inputs for reading a repository.
type Options struct {
	// Kinds are the kinds written in Go.
	Kinds []kind.Kind
	// Stdlib has *.hcl files with define blocks that are visible everywhere. nil: none.
	Stdlib fs.FS
	// Actions and Commands are the built-in ones. Commands of the repository can run them, and must
	// not reuse their names.
	Actions  []Action
	Commands []Command
	// Beside is another revision of the repository. A file that is identical in both is not parsed
	// again. nil: none.
	Beside *Program
}

// Input is, in addition to the repository, the input of one target's catalog.
type Input struct {
	Target string // "" selects the only target
	Facts  map[string]cty.Value
	Vars   map[string]string // the command line's variables
	// Outputs are the outputs of commands that are known, by address.
	Outputs map[addr.Addr]string
	// Test, if not nil, provides the target, labels, facts and variables instead of Target and
	// Facts.
	Test *Test
}

// Watched is an optional ability of a tree. It receives each place before the place is read or
// evaluated. The monitor of a compilation that never ends can then report its place. The calls do
// not affect the result.
type Watched interface {
	Working(diag.Range)
}

// Program is a repository that has been read. It caches parsed files, so that several targets cost
// little more than one. It is not safe for concurrent use.
type Program struct {
	tree         repo.Tree
	kinds        map[string]*kind.Kind
	library      library
	root         *body
	targets      []*target
	enrolled     map[string]*enrolled
	roles        map[string]*level
	groups       []*group // in the order of declaration
	commands     map[string]*command
	builtin      Options // its actions and commands
	top          level
	modules      map[string]parsed // by directory
	declarations *declarations     // nil until the first use

	working    func(diag.Range)
	sources    map[string][]byte
	templates  map[string]hclsyntax.Expression
	contexts   map[*directory]*hcl.EvalContext
	pure       *hcl.EvalContext
	used       map[string]bool
	reads      map[string]map[string]bool // paths read from the tree, by directory
	readOrder  []read
	beside     *Program
	bodies     map[string]*hclsyntax.Body // of the files in HCL
	onlyLevels map[string]bool            // files of the top that declare only levels
	rendering  int
	named      map[hclsyntax.Expression][]hcl.Traversal // the references in expressions
	secrets    secrets
	given      given
	loops      *loops // shared with beside, whose bodies are reused
}

// Load reads the top level of a repository. Modules are read when a target
// needs them. The program is usable only when no diagnostic is an error.
func Load(tree repo.Tree, o Options) (*Program, diag.List) {
	p := &Program{
		top: level{what: "repository"}, roles: map[string]*level{},
		enrolled: map[string]*enrolled{},
		commands: map[string]*command{}, builtin: o, tree: tree, kinds: map[string]*kind.Kind{}, modules: map[string]parsed{},
		sources: map[string][]byte{}, templates: map[string]hclsyntax.Expression{},
		contexts: map[*directory]*hcl.EvalContext{}, used: map[string]bool{},
		reads: map[string]map[string]bool{}, onlyLevels: map[string]bool{}, beside: o.Beside, named: map[hclsyntax.Expression][]hcl.Traversal{}, bodies: map[string]*hclsyntax.Body{},
		pure:    &hcl.EvalContext{Functions: pureFunctions()},
		working: func(diag.Range) {},
		loops:   &loops{most: maxLoops},
	}
	if o.Beside != nil {
		p.loops = o.Beside.loops
	}
	if w, ok := tree.(Watched); ok {
		p.working = w.Working
	}
	p.secrets.source, _ = tree.(Secrets)
	for _, k := range o.Kinds {
		p.kinds[k.Name] = &k
	}
	var ds diag.List
	if o.Stdlib != nil {
		ds = append(ds, p.loadStdlib(o.Stdlib)...)
	}
	root, more := p.parseDirectory(p.newDirectory(tree, "."), true)
	ds = append(ds, more...)
	p.root = root
	p.enrol()
	p.forget(root)
	if root != nil && len(root.files) == 0 {
		ds = append(ds, diag.Errorf(diag.Range{File: "fettle.hcl"}, "Nothing is configured",
			"The repository has no configuration: its top directory contains no *.hcl file and no file of another form of the language. Run fettle init, or write fettle.hcl."))
	}
	return p, p.lines(ds)
}

func (p *Program) newDirectory(tree repo.Tree, dir string) *directory {
	return &directory{tree: tree, dir: dir, prog: p, lookups: map[string]*lookup{}}
}

// module reads the module in a directory, once.
func (p *Program) module(dir string) (*body, diag.List) {
	m, ok := p.modules[dir]
	if !ok {
		m.body, m.ds = p.parseDirectory(p.newDirectory(p.tree, dir), false)
		m.ds = p.lines(append(m.ds, p.vendored(dir)...))
		p.modules[dir] = m
	}
	for _, f := range m.body.files {
		p.used[f] = true
	}
	return m.body, slices.Clone(m.ds)
}

// parsed is a module as it was read, with its errors.
type parsed struct {
	body *body
	ds   diag.List
}

// lines adds source lines to diagnostics. None of them repeats a secret.
func (p *Program) lines(ds diag.List) diag.List {
	ds = p.secrets.masked(ds)
	for i, d := range ds {
		if src, ok := p.sources[d.Range.File]; ok && d.Line == "" {
			ds[i] = d.WithLine(src)
		}
	}
	return ds
}

// KindNames lists every kind that a state may have, sorted: those written in
// Go, the standard library's, and the repository's top-level ones.
func (p *Program) KindNames() []string {
	var out []string
	for n := range p.kinds {
		out = append(out, n)
	}
	for n := range p.library.file {
		out = append(out, n)
	}
	if p.root != nil {
		for n := range p.root.defines {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
