package lang

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
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

	dir                                                     string // of the module, "" at the top
	target, labels, facts, vars, secrets, outputs, exported *hclsyntax.Attribute
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
func (t *Test) Module() string { return t.dir }

// Prefix returns the prefix of the module's states in a result.
func (t *Test) Prefix() string {
	if t.dir == "" || t.target != nil {
		return ""
	}
	return modulePrefix(path.Base(t.dir))
}

// Tests returns all tests of a repository, by file and position.
func (p *Program) Tests() ([]*Test, diag.List) {
	r := &testReader{p: p, seen: map[string]diag.Range{}}
	r.directory("", "tests")
	if list, err := p.tree.ReadDir("modules"); err == nil {
		for _, e := range list {
			if e.Type == repo.Dir {
				r.directory(e.Path, path.Join(e.Path, "tests"))
			}
		}
	}
	return r.tests, p.lines(r.list)
}

type testReader struct {
	reports
	p     *Program
	tests []*Test
	seen  map[string]diag.Range
}

func (r *testReader) directory(module, dir string) {
	list, err := r.p.tree.ReadDir(dir)
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
	src, err := r.p.tree.ReadFile(name)
	if err != nil {
		r.errorf(diag.Range{File: name}, "File cannot be read", "%s", sentence(err))
		return
	}
	ps := &parser{prog: r.p, body: newBody(r.p.newDirectory(r.p.tree, path.Join(".", module)))}
	body := ps.read(f, name, src, testsBody)
	if body == nil {
		r.add(ps.list...)
		return
	}
	ps.only(&hclsyntax.Block{Type: "file of tests", Body: body}, nil, []string{"test"})
	for _, b := range body.Blocks {
		if b.Type == "test" {
			r.test(ps, module, name, b)
		}
	}
	r.add(ps.list...)
}

func (r *testReader) test(ps *parser, module, file string, b *hclsyntax.Block) {
	name, rng, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "target", "labels", "facts", "secrets", "outputs", "exported", "vars"}, []string{"expect"})
	at := b.Body.Attributes
	t := &Test{File: file, Name: name, Range: rng, dir: module, target: at["target"], labels: at["labels"], facts: at["facts"], vars: at["vars"], secrets: at["secrets"], outputs: at["outputs"], exported: at["exported"]}
	if old, twice := r.seen[t.ID()]; twice {
		ps.errorf(rng, "Test twice", "There is already a test %q at %s. Rename or remove one of the two.", name, old)
		return
	}
	r.seen[t.ID()] = rng
	if module == "" && t.target == nil {
		ps.errorf(rng, "Test without a target",
			`A test in tests/ at the top of the repository needs a target: target = "web1". Put tests of a module into modules/NAME/tests.`)
		return
	}
	for _, sub := range b.Body.Blocks {
		if t.Expect.Range != (diag.Range{}) {
			ps.errorf(rangeOf(sub.DefRange()), "Expectations twice", "A test can have only one expect block. Merge the blocks.")
			return
		}
		t.Expect = ps.expect(sub)
	}
	if t.Expect.Range == (diag.Range{}) {
		ps.errorf(rng, "Test without expectations",
			`Add the expectations: expect { steps = ["PKG nginx"] }. An empty expect { } expects only that the target compiles.`)
		return
	}
	r.tests = append(r.tests, t)
}

// expect reads the expectations of a test. All of them are known before any evaluation.
func (ps *parser) expect(b *hclsyntax.Block) Expect {
	e := Expect{Range: rangeOf(b.DefRange())}
	lists := map[string]*[]Want{"states": &e.States, "no_states": &e.NoStates, "deferred": &e.Held, "steps": &e.Steps, "no_steps": &e.NoSteps, "order": &e.Order}
	texts := map[string]*string{"list": &e.List, "error": &e.Error}
	ps.only(b, append(sortedKeys(lists), sortedKeys(texts)...), nil)
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
		ps.errorf(e.Range, "Expectations contradict each other",
			"If the test expects an error, there is no step list to check. Remove error or the other expectations.")
	}
	if e.List != "" && (path.Base(e.List) != e.List || strings.HasPrefix(e.List, ".")) {
		ps.errorf(e.Range, "Bad file name", `list must name a file in the directory of the test, such as list = "tls.steps".`)
	}
	return e
}

func (ps *parser) wants(e hclsyntax.Expression) []Want {
	exprs, hds := hcl.ExprList(e)
	ps.add(fromHCL(hds)...)
	out := make([]Want, 0, len(exprs))
	for _, x := range exprs {
		out = append(out, Want{ps.text(x.(hclsyntax.Expression), "it"), rangeOf(x.Range())})
	}
	return out
}

// chosen returns the target of a test: a target of the repository, or a new one with only the
// module.
func (p *Program) chosen(t *Test) (*target, diag.List) {
	out := &target{level: level{what: "target", name: "test", rng: t.Range}}
	if t.target == nil {
		out.uses = []*moduleUse{{name: path.Base(t.dir), rng: t.Range, dir: t.dir}}
	} else {
		r := &reports{}
		v, ok := p.early(r, t.target.Expr, cty.String)
		if !ok {
			return nil, r.list
		}
		known, ds := p.choose(v.AsString())
		for i := range ds {
			ds[i].Range = rangeOf(t.target.Expr.Range())
		}
		if known == nil {
			return nil, ds
		}
		*out = *known
		out.placed = placed{}
	}
	if t.labels != nil {
		out.labels = t.labels
	}
	return out, nil
}

// factsOfTest returns the facts of a test; no other facts exist.
func (ev *evaluator) factsOfTest(t *Test) map[string]cty.Value {
	if t.facts == nil {
		return nil
	}
	v, hds := t.facts.Expr.Value(ev.prog.pure)
	ev.add(fromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		ev.errorf(rangeOf(t.facts.Expr.Range()), "Facts are an object", `facts must be an object: facts = { os_codename = "bookworm" }.`)
		return nil
	}
	facts := v.AsValueMap()
	for _, name := range sortedKeys(facts) {
		ev.checkFact(name, rangeOf(t.facts.Expr.Range()))
	}
	return facts
}

// secretsOfTest returns the secrets of a test, which replace the repository's.
func (ev *evaluator) secretsOfTest(t *Test) map[string]string {
	if t == nil {
		return nil
	}
	return ev.textsOfTest(t.secrets, "Secrets are an object of strings",
		`secrets must be an object of strings: secrets = { "db/password" = "for the test" }.`)
}

// outputsOfTest returns the outputs of commands, by the names of their states as seen from the top.
func (ev *evaluator) outputsOfTest(t *Test) map[string]string {
	out := map[string]string{}
	if t == nil {
		return out
	}
	for name, text := range ev.textsOfTest(t.outputs, "Outputs are an object of strings",
		`outputs must be an object of strings: outputs = { "exec.certificate" = "the output" }.`) {
		if prefix := t.Prefix(); !strings.HasPrefix(name, prefix) {
			name = prefix + name
		}
		out[name] = text
	}
	return out
}

// unusedOutputs refuses outputs of a test that belong to no command, or that nothing uses.
func (ev *evaluator) unusedOutputs(t *Test) {
	if t == nil {
		return
	}
	var asked []string
	for _, id := range sortedKeys(ev.asked) {
		if strings.HasPrefix(id, "exported.") {
			continue
		}
		asked = append(asked, strings.TrimPrefix(id, t.Prefix()))
	}
	for _, id := range sortedKeys(ev.outputs) {
		if name := strings.TrimPrefix(id, t.Prefix()); !ev.asked[id] {
			ev.errorf(rangeOf(t.outputs.Expr.Range()), "Unused output in a test",
				"No state of the test uses the result of %s. Remove it from outputs.%s", name, Suggest(name, asked))
		}
	}
	all, rng, _ := ev.exportedOfTest()
	for _, name := range sortedKeys(all) {
		if !ev.asked["exported."+name] {
			ev.errorf(rng, "Unused exported values in a test", "No state of the test uses exported.%s. Remove it from exported.", name)
		}
	}
}

func (ev *evaluator) textsOfTest(a *hclsyntax.Attribute, summary, example string) map[string]string {
	if a == nil {
		return nil
	}
	v, hds := a.Expr.Value(ev.prog.pure)
	ev.add(fromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	m, err := convert.Convert(v, cty.Map(cty.String))
	if err != nil || m.IsNull() || !m.IsWhollyKnown() {
		ev.errorf(rangeOf(a.Expr.Range()), summary, "%s", example)
		return nil
	}
	out := map[string]string{}
	for k, e := range m.AsValueMap() {
		if !e.IsNull() {
			out[k] = e.AsString()
		}
	}
	return out
}
