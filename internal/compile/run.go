package compile

import (
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/kind/stdlib"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/repo"
)

// Compile makes the list of one target. The result is usable only when no
// diagnostic is an error; diagnostics are sorted by place and carry the source
// line. It is pure and may run concurrently with itself.
func Compile(in Input) (Result, diag.List) {
	p, ds := load(in.Tree)
	if ds.HasErrors() {
		return Result{}, ds
	}
	c, more := p.Catalog(lang.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars})
	ds = append(ds, more...)
	if ds.HasErrors() {
		return Result{}, sorted(append(ds, p.WithLines(stateMistakes(c))...))
	}
	res, more := FromCatalog(c)
	ds = append(ds, p.WithLines(more)...)
	if ds.HasErrors() {
		return Result{}, sorted(ds)
	}
	return res, sorted(ds)
}

// stateMistakes tells what is wrong with the states of a catalog that is not
// whole, so that one try shows as many mistakes as it can.
func stateMistakes(c *catalog.Catalog) diag.List {
	if c == nil {
		return nil
	}
	b := newBuilder(c)
	b.states()
	return b.ds
}

func sorted(ds diag.List) diag.List {
	ds.Sort()
	return ds
}

// load reads a repository with every kind there is.
func load(tree repo.Tree) (*lang.Program, diag.List) {
	return lang.Load(tree, lang.Options{Kinds: kinds.All(), Stdlib: stdlib.Files()})
}

// Targets lists what a repository configures, in the order of declaration.
func Targets(tree repo.Tree) ([]lang.Target, diag.List) {
	p, ds := load(tree)
	if ds.HasErrors() {
		return nil, ds
	}
	ts, more := p.Targets()
	return ts, append(ds, more...)
}

// Kinds gives the schema of every kind that is built in, sorted by name.
func Kinds() []kind.Kind {
	p, _ := load(repo.MapTree(nil))
	return p.Kinds()
}

// Explain tells of each variable with the given name what value it has for the
// target, and every layer that gives one.
func Explain(in Input, name string) ([]lang.Explained, diag.List) {
	p, ds := load(in.Tree)
	if ds.HasErrors() {
		return nil, ds
	}
	return p.Explain(lang.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars}, name)
}

// FromCatalog makes the list of an evaluated catalog.
func FromCatalog(c *catalog.Catalog) (Result, diag.List) {
	b := newBuilder(c)
	b.states()
	if b.ds.HasErrors() {
		return Result{}, b.ds
	}
	b.groups()
	b.explicit()
	b.actions()
	b.automatic()
	if cycle := b.g.Settle(); cycle != nil {
		b.reportCycle(cycle)
	}
	if b.ds.HasErrors() {
		return Result{}, b.ds
	}
	res := b.result(b.order())
	b.lint(&res)
	return res, b.ds
}
