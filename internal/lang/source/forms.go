package source

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
	"fettle.dev/fettle/internal/lang/front/starfront"
	"fettle.dev/fettle/internal/lang/front/yamlfront"
	"fettle.dev/fettle/internal/lang/syntax"
)

// form is a way to write the language.
type form uint8

const (
	noForm form = iota
	hclForm
	yamlForm
	renderedForm // YAML that a template makes
	jsonForm
	starForm
	wrongForm // a file name that resembles a form and is not valid
)

// formOf returns the form of a file by its name. A module often has data files in YAML or JSON too,
// so only names with fettle count.
func formOf(name string) form {
	if strings.HasPrefix(name, ".") {
		return noForm
	}
	if strings.HasSuffix(name, ".hcl") {
		return hclForm
	}
	for _, f := range [...]struct {
		ending string
		form   form
	}{{"fettle.yaml", yamlForm}, {"fettle.yaml.tmpl", renderedForm}, {"fettle.json", jsonForm}, {"fettle.star",
		starForm}, {"fettle.yml", wrongForm}} {
		if name == f.ending || strings.HasSuffix(name, "."+f.ending) {
			return f.form
		}
	}
	return noForm
}

// IsSource reports whether a file of this name, without its directory, is read as configuration.
func IsSource(name string) bool { return formOf(name) > noForm }

// MainFiles returns the possible names of the main file at the top of a repository without git. The
// usual name is first.
func MainFiles() []string {
	return []string{"fettle.hcl", "fettle.yaml", "fettle.json", "fettle.yaml.tmpl", "fettle.star"}
}

// file reads a configuration file of any form.
func (ps *parser) file(f form, name string, src []byte) {
	in := syntax.ModuleBody
	if ps.top {
		in = syntax.TopBody
	}
	if body := ps.read(f, name, src, in); body != nil {
		ps.contents(body)
		if ps.top {
			ps.prog.Record.onlyLevels[name] = onlyLevels(body)
		}
	}
}

// read returns the body of a file, nil after a diagnostic. in is the kind of its content.
func (ps *parser) read(f form, name string, src []byte, in syntax.BodyKind) *hclsyntax.Body {
	ps.prog.Sources[name] = src
	ps.prog.Working(diag.Range{File: name})
	if f == wrongForm {
		ps.Errorf(diag.Range{File: name}, "Unknown type of file",
			"The name of a YAML configuration file must end in fettle.yaml. Rename the file.")
		return nil
	}
	ds := syntax.TooLarge(src, name)
	if !ds.HasErrors() {
		ds = syntax.Readable(src, name)
	}
	if ps.Add(ds...); ds.HasErrors() {
		return nil
	}
	switch f {
	case yamlForm:
		return ps.document(in)(yamlfront.Parse(front.NewSource(name, src)))
	case renderedForm:
		text, ds := ps.render(name, src)
		if ps.Add(ds...); ds.HasErrors() {
			return nil
		}
		return ps.document(in)(yamlfront.Parse(text))
	case jsonForm:
		return ps.document(in)(jsonfront.Parse(front.NewSource(name, src)))
	case starForm:
		return ps.document(in)(starfront.Run(front.NewSource(name, src), ps.load))
	}
	return ps.hcl(name, src)
}

// load returns the text of another file for a program: a file of the module or, with // before its
// path, of the repository.
func (ps *parser) load(name string) (*front.Source, error) {
	f := ps.body.Directory
	p, top := strings.CutPrefix(name, "//")
	if top {
		f = ps.prog.newDirectory(ps.prog.Tree, ".")
	}
	if !strings.HasSuffix(p, ".star") {
		return nil, fmt.Errorf("cannot load %q: load accepts only files whose names end in .star", name)
	}
	src, err := f.ReadFile(p)
	if err != nil {
		return nil, err
	}
	shown := f.Source(p)
	ps.prog.Sources[shown] = src
	text := front.NewSource(shown, src)
	for _, d := range syntax.Readable(src, shown) {
		return nil, front.Errorf(text, d.Range.Start.Byte, d.Range.Start.Byte, d.Summary, "%s", d.Detail)
	}
	return text, nil
}

func (ps *parser) hcl(name string, src []byte) *hclsyntax.Body {
	if b := ps.prog.beside; b != nil && b.bodies[name] != nil && bytes.Equal(b.Sources[name], src) {
		ps.prog.bodies[name] = b.bodies[name]
		return b.bodies[name]
	}
	if ds := syntax.Guard(src, name, syntax.ConfigSyntax); ds.HasErrors() {
		ps.Add(ds...)
		return nil
	}
	f, hds := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	syntax.CheckDivisions(f.Body.(*hclsyntax.Body))
	ps.prog.Loops.Watch(f.Body.(*hclsyntax.Body))
	if body := f.Body.(*hclsyntax.Body); len(hds) == 0 {
		ps.prog.bodies[name] = body
	}
	return f.Body.(*hclsyntax.Body)
}

// document returns a function that makes the body of a document. A document with errors has no
// body, so that it is never evaluated in part.
func (ps *parser) document(in syntax.BodyKind) func(*front.Node, *front.Error) *hclsyntax.Body {
	return func(doc *front.Node, err *front.Error) *hclsyntax.Body {
		if err != nil {
			ps.Add(err.Diagnostic())
			return nil
		}
		d := &syntax.Document{}
		body := syntax.NewBody(diag.Range{})
		if doc != nil {
			d.Fill(body, doc, in)
		}
		if ps.Add(d.List...); d.List.HasErrors() {
			return nil
		}
		ps.prog.Loops.Watch(body)
		return body
	}
}

// Expansion reads states in the JSON form. A program printed them, so their texts are data and
// ${…} is not a template.
func (p *Program) Expansion(f *Directory, x *kind.Expansion) (*Body, diag.List) {
	p.Sources[x.File] = x.Text
	p.Working(diag.Range{File: x.File})
	ps := &parser{prog: p, body: NewBody(f)}
	if ds := append(syntax.TooLarge(x.Text, x.File), syntax.Readable(x.Text, x.File)...); ds.HasErrors() {
		return nil, ds
	}
	doc, err := jsonfront.Parse(front.NewSource(x.File, x.Text))
	if doc != nil {
		literal(doc)
	}
	tree := ps.document(syntax.ModuleBody)(doc, err)
	if tree == nil {
		return nil, p.WithLines(ps.List)
	}
	for _, b := range tree.Blocks {
		switch b.Type {
		case "variable", "fact", "define", "output", "lookup", "action", "command", "target", "role", "target_group",
			"enrolled", "needs", "exported", "policy", "ssh", "rollout", "window", "lock", "barrier", "signal",
			"organization", "scope_kind", "scope", "cluster", "environment", "universe", "module", "test", "generator":
			ps.Errorf(syntax.RangeOf(b.TypeRange), "Block that cannot be generated",
				"A generator can make states, blocks of states and locals, and this is a %s. Write it into a file of the module.",
				b.Type)
		}
	}
	if !ps.List.HasErrors() {
		ps.contents(tree)
	}
	return ps.body, p.WithLines(ps.List)
}

// literal marks all strings of a document as constant, so that they are not templates.
func literal(n *front.Node) {
	if n.Kind == front.Text {
		n.Kind = front.Literal
	}
	for _, item := range n.Items {
		literal(item)
	}
	for _, p := range n.Pairs {
		literal(p.Key)
		literal(p.Value)
	}
}
