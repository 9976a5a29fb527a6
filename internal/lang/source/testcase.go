package source

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// Test is one test block of a repository: the expected result of a module, or a target, with given
// facts and variables.
type Test struct {
	// File is the file of the test: tests/NAME.hcl at the top, or in a module.
	File  string
	Name  string
	Range diag.Range
	// Expect is the expected result.
	Expect Expect

	Directory                                               string // of the module, "" at the top
	Target, Labels, Facts, Vars, Secrets, Outputs, Exported *hclsyntax.Attribute
}

// Want is one text of an expectation.
type Want struct {
	Text  string
	Range diag.Range
}

// Expect is the expected result of a test. Steps are texts in which * matches any text.
type Expect struct {
	States, NoStates []Want // references to states, relative to the module or to the top
	Held             []Want // states that wait for a value of a run
	Steps, NoSteps   []Want
	Order            []Want // steps in this order
	List             string // a file beside the test with the whole list
	Error            string // part of an expected error
	Range            diag.Range
}

// ID names a test: its file and its name.
func (t *Test) ID() string { return t.File + " " + t.Name }

// Module is the directory of the module that the test belongs to, "" at the top.
func (t *Test) Module() string { return t.Directory }

// Prefix returns the prefix of the module's states in a result.
func (t *Test) Prefix() string {
	if t.Directory == "" || t.Target != nil {
		return ""
	}
	return ModulePrefix(path.Base(t.Directory))
}

// Tests returns all tests of a repository, by file and position.
func (p *Program) Tests() ([]*Test, diag.List) {
	r := &testReader{p: p, seen: map[string]diag.Range{}}
	r.directory("", "tests")
	if list, err := p.Tree.ReadDir("modules"); err == nil {
		for _, e := range list {
			if e.Type == repo.Dir {
				r.directory(e.Path, path.Join(e.Path, "tests"))
			}
		}
	}
	return r.tests, p.WithLines(r.List)
}

type testReader struct {
	syntax.Reports
	p     *Program
	tests []*Test
	seen  map[string]diag.Range
}

func (r *testReader) directory(module, dir string) {
	list, err := r.p.Tree.ReadDir(dir)
	if err != nil {
		return // there are none
	}
	for _, e := range list {
		if f := formOf(path.Base(e.Path)); e.Type == repo.File && f != noForm {
			r.file(module, e.Path, f)
		}
	}
}

func (r *testReader) file(module, name string, f form) {
	src, err := r.p.Tree.ReadFile(name)
	if err != nil {
		r.Errorf(diag.Range{File: name}, "File cannot be read", "%s", syntax.Sentence(err))
		return
	}
	ps := &parser{prog: r.p, body: NewBody(r.p.newDirectory(r.p.Tree, path.Join(".", module)))}
	body := ps.read(f, name, src, syntax.TestsBody)
	if body == nil {
		r.Add(ps.List...)
		return
	}
	ps.only(&hclsyntax.Block{Type: "file of tests", Body: body}, nil, []string{"test"})
	for _, b := range body.Blocks {
		if b.Type == "test" {
			r.test(ps, module, name, b)
		}
	}
	r.Add(ps.List...)
}

func (r *testReader) test(ps *parser, module, file string, b *hclsyntax.Block) {
	name, rng, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "target", "labels", "facts", "secrets", "outputs", "exported", "vars"},
		[]string{"expect"})
	at := b.Body.Attributes
	t := &Test{File: file, Name: name, Range: rng, Directory: module, Target: at["target"], Labels: at["labels"],
		Facts: at["facts"], Vars: at["vars"], Secrets: at["secrets"], Outputs: at["outputs"], Exported: at["exported"]}
	if old, twice := r.seen[t.ID()]; twice {
		ps.Errorf(rng, "Test twice", "There is already a test %q at %s. Rename or remove one of the two.", name, old)
		return
	}
	r.seen[t.ID()] = rng
	if module == "" && t.Target == nil {
		ps.Errorf(rng, "Test without a target",
			`A test in tests/ at the top of the repository needs a target: target = "web1". Put tests of a module into modules/NAME/tests.`)
		return
	}
	for _, sub := range b.Body.Blocks {
		if t.Expect.Range != (diag.Range{}) {
			ps.Errorf(syntax.RangeOf(sub.DefRange()), "Expectations twice",
				"A test can have only one expect block. Merge the blocks.")
			return
		}
		t.Expect = ps.expect(sub)
	}
	if t.Expect.Range == (diag.Range{}) {
		ps.Errorf(rng, "Test without expectations",
			`Add the expectations: expect { steps = ["PKG nginx"] }. An empty expect { } expects only that the target compiles.`)
		return
	}
	r.tests = append(r.tests, t)
}

// expect reads the expectations of a test. All of them are known before any evaluation.
func (ps *parser) expect(b *hclsyntax.Block) Expect {
	e := Expect{Range: syntax.RangeOf(b.DefRange())}
	lists := map[string]*[]Want{"states": &e.States, "no_states": &e.NoStates, "deferred": &e.Held, "steps": &e.Steps,
		"no_steps": &e.NoSteps, "order": &e.Order}
	texts := map[string]*string{"list": &e.List, "error": &e.Error}
	ps.only(b, append(syntax.SortedNames(lists), syntax.SortedNames(texts)...), nil)
	for name, into := range lists {
		if a := b.Body.Attributes[name]; a != nil {
			*into = ps.wants(a.Expr)
		}
	}
	for name, into := range texts {
		if a := b.Body.Attributes[name]; a != nil {
			*into = ps.text(a.Expr, name)
		}
	}
	if e.Error != "" && len(b.Body.Attributes) > 1 {
		ps.Errorf(e.Range, "Expectations contradict each other",
			"If the test expects an error, there is no step list to check. Remove error or the other expectations.")
	}
	if e.List != "" && (path.Base(e.List) != e.List || strings.HasPrefix(e.List, ".")) {
		ps.Errorf(e.Range, "Bad file name", `list must name a file in the directory of the test, such as list = "tls.steps".`)
	}
	return e
}

func (ps *parser) wants(e hclsyntax.Expression) []Want {
	exprs, hds := hcl.ExprList(e)
	ps.Add(syntax.FromHCL(hds)...)
	out := make([]Want, 0, len(exprs))
	for _, x := range exprs {
		out = append(out, Want{ps.text(x.(hclsyntax.Expression), "it"), syntax.RangeOf(x.Range())})
	}
	return out
}
