package compile

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/kind/stdlib"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Repository is a tree that has been read: the common parts of its targets are parsed once. Results
// do not depend on earlier calls. Repository is not safe for concurrent use.
type Repository struct {
	tree    repo.Tree
	program *source.Program
	ds      diag.List // of reading it
}

// Open reads the top of a repository with every kind there is.
func Open(tree repo.Tree) *Repository { return open(tree, nil) }

// Beside is like Open, for another revision of the repository. Files that are identical in both are
// parsed once.
func (r *Repository) Beside(tree repo.Tree) *Repository { return open(tree, r.program) }

func open(tree repo.Tree, beside *source.Program) *Repository {
	p, ds := source.Load(tree, options(beside))
	return &Repository{tree, p, ds}
}

// Compile makes the list of one target. The result is usable only when no
// diagnostic is an error; diagnostics are sorted by place and carry the source
// line. It is pure and may run concurrently with itself.
func Compile(in Input) (Result, diag.List) { return Open(in.Tree).Compile(in) }

// Compile is like the function Compile, but ignores the input's tree.
func (r *Repository) Compile(in Input) (Result, diag.List) {
	p, ds := r.program, slices.Clone(r.ds)
	if ds.HasErrors() {
		return Result{}, ds
	}
	c, more := eval.Catalog(p, in.lang())
	ds = append(ds, more...)
	if ds.HasErrors() {
		return Result{}, sorted(append(ds, p.WithLines(stateErrors(c))...))
	}
	res, more := FromCatalog(c)
	more = append(more, undeclaredWaits(p, res.List)...)
	ds = append(append(ds, p.WithLines(more)...), placeholders(res.List, p.Placeholders())...)
	if ds.HasErrors() {
		return Result{}, sorted(ds)
	}
	return res, sorted(ds)
}

// options are the options for reading every repository.
func options(beside *source.Program) source.Options {
	return source.Options{Kinds: kinds.All(), Stdlib: stdlib.Files(), Beside: beside}
}

// stateErrors returns the errors in the states of an incomplete catalog, so that one attempt
// shows as many errors as possible.
func stateErrors(c *catalog.Catalog) diag.List {
	if c == nil {
		return nil
	}
	b := newBuilder(c)
	b.states()
	return b.ds
}

// placeholders warns about a list with placeholders, which no host can receive.
func placeholders(l step.List, names []string) diag.List {
	if len(names) == 0 || !slices.ContainsFunc(l,
		func(s step.Step) bool { return slices.Contains(s.Keys(), secret.Placeholder) }) {
		return nil
	}
	return diag.List{diag.Warningf(diag.Range{File: secret.PathOf(names[0])}, "Placeholders instead of secrets",
		"fettle cannot decrypt these secrets here, so the list contains placeholders: %s. The list is only for reading. To decrypt secrets, see fettle secret.", strings.Join(
			names, ", "))}
}

func sorted(ds diag.List) diag.List {
	ds.Sort()
	return ds
}

// Targets returns the targets of a repository, in the order of declaration.
func Targets(tree repo.Tree) ([]query.Target, diag.List) { return Open(tree).Targets() }

// Targets is like the function Targets.
func (r *Repository) Targets() ([]query.Target, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	ts, more := query.Targets(r.program)
	return ts, append(slices.Clone(r.ds), more...)
}

// Strategies returns the rollout strategies that a repository declares, in the order of declaration.
func Strategies(tree repo.Tree) ([]query.Strategy, diag.List) { return Open(tree).Strategies() }

// Strategies is like the function Strategies.
func (r *Repository) Strategies() ([]query.Strategy, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	list, more := query.Strategies(r.program)
	return list, append(slices.Clone(r.ds), more...)
}

// Locks returns the locks that a repository declares, in the order of declaration.
func Locks(tree repo.Tree) ([]source.Lock, diag.List) { return Open(tree).Locks() }

// Locks is like the function Locks.
func (r *Repository) Locks() ([]source.Lock, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return query.Locks(r.program), slices.Clone(r.ds)
}

// States returns the states that the repository declares, before they are evaluated for a target. Modules with errors
// have the states that can be read.
func (r *Repository) States() ([]query.DeclaredState, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	list, ds := query.DeclaredStates(r.program)
	return list, slices.Concat(r.ds, ds)
}

// Waits returns the barriers and signals that a repository declares.
func Waits(tree repo.Tree) (query.Coordination, diag.List) { return Open(tree).Waits() }

// Waits is like the function Waits.
func (r *Repository) Waits() (query.Coordination, diag.List) {
	if r.ds.HasErrors() {
		return query.Coordination{}, slices.Clone(r.ds)
	}
	out, more := query.Waits(r.program)
	return out, append(slices.Clone(r.ds), more...)
}

// Scopes returns the scopes that a repository declares.
func Scopes(tree repo.Tree) (query.Scopes, diag.List) { return Open(tree).Scopes() }

// Scopes is like the function Scopes.
func (r *Repository) Scopes() (query.Scopes, diag.List) {
	if r.ds.HasErrors() {
		return query.Scopes{}, slices.Clone(r.ds)
	}
	out, more := query.ScopesOf(r.program)
	return out, append(slices.Clone(r.ds), more...)
}

// Names returns the names of Targets, with their errors.
func (r *Repository) Names() ([]string, diag.List) {
	list, ds := r.Targets()
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, ds
}

// Kinds returns the schema of every kind that is built in, sorted by name.
func Kinds() []kind.Kind { return Open(repo.MapTree(nil)).program.Kinds() }

// Schema returns the JSON Schema of the repository's files of a part, with the kinds available
// there: built-in kinds, kinds of the top level, and for modules the kinds of any module.
func (r *Repository) Schema(part schema.Part) ([]byte, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	all, ds := r.program.Kinds(), slices.Clone(r.ds)
	if part == schema.Module {
		own, more := r.program.ModuleKinds()
		all, ds = append(all, own...), sorted(append(ds, more...))
	}
	return schema.Document(part, all), ds
}

// Explain returns, for each variable with the given name, its value for the target and every layer
// that sets it.
func Explain(in Input, name string) ([]eval.Explained, diag.List) {
	return Open(in.Tree).Explain(in, name)
}

// Explain is like the function Explain, but ignores the input's tree.
func (r *Repository) Explain(in Input, name string) ([]eval.Explained, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return eval.Explain(r.program, in.lang(), name)
}

// Generators returns the generator runs that a target's list depends on. Errors in other parts of
// the target are also returned. They only remove the runs that depend on them.
func (r *Repository) Generators(in Input) ([]generator.Run, diag.List) {
	ds := slices.Clone(r.ds)
	if ds.HasErrors() {
		return nil, ds
	}
	c, more := eval.Catalog(r.program, eval.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars})
	ds = append(ds, more...)
	if c == nil {
		return nil, ds
	}
	var out []generator.Run
	for _, n := range c.Nodes {
		if n.Kind != nil && n.Kind.Expand != nil {
			run, bad := generator.RunOf(n.State)
			if ds = append(ds, bad...); !bad.HasErrors() {
				out = append(out, run)
			}
		}
	}
	return out, sorted(ds)
}

// OwnKinds returns the kinds that the repository defines, see query.OwnKinds.
func (r *Repository) OwnKinds() ([]query.OwnKind, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return query.OwnKinds(r.program)
}

// EmptyGroups returns example targets for empty target groups, see query.EmptyGroups.
func (r *Repository) EmptyGroups() ([]query.Target, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return query.EmptyGroups(r.program)
}

// Lookups returns the lookups that the repository declares, see query.Lookups.
func (r *Repository) Lookups() ([]source.Lookup, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return query.Lookups(r.program)
}

// FromCatalog makes the list of an evaluated catalog.
func FromCatalog(c *catalog.Catalog) (Result, diag.List) {
	_, _, res, ds := fromCatalog(c)
	return res, ds
}

// fromCatalog is like FromCatalog, but also returns the builder and the order of its items.
func fromCatalog(c *catalog.Catalog) (*builder, []int, Result, diag.List) {
	b := newBuilder(c)
	b.states()
	if b.ds.HasErrors() {
		return b, nil, Result{}, b.ds
	}
	b.groups()
	b.explicit()
	b.actions()
	implied{b}.automatic()
	blocks{b}.hold()
	if cycle := b.g.Settle(); cycle != nil {
		b.reportCycle(cycle)
	}
	if b.ds.HasErrors() {
		return b, nil, Result{}, b.ds
	}
	order := b.order()
	res := b.result(order)
	b.lint(&res)
	return b, order, res, b.ds
}
