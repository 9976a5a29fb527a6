package differences

import (
	"context"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/repo"
)

// work is the computation of one request. It opens the commit and starts compilers only if it needs them.
type work struct {
	Config
	commits  *kept[compiled]
	ctx      context.Context
	open     func() (*tree, error)
	tree     *tree
	compiler Compiler
	closers  []func() error // of further trees
}

func (w *work) close() {
	if w.compiler != nil {
		w.compiler.Close()
	}
	if w.tree != nil {
		_ = w.tree.close()
	}
	for _, end := range w.closers {
		_ = end()
	}
}

// use returns the compiler.
func (w *work) use() Compiler {
	if w.compiler == nil {
		w.compiler = w.Compiler(w.ctx)
	}
	return w.compiler
}

// files returns the tree of the commit.
func (w *work) files() (_ *tree, err error) {
	if w.tree == nil {
		w.tree, err = w.open()
	}
	return w.tree, err
}

// compiled is a compiled commit.
type compiled struct {
	assign.Compiled
	fleet.Revision
}

// errors returns the errors of targets.
func (c compiled) errors() map[string][]string {
	out := map[string][]string{}
	for _, a := range c.Targets {
		for _, name := range a.Names {
			out[name] = a.Errors
		}
	}
	return out
}

// compiled compiles the targets and strategies of a commit.
func (w *work) compiled(commit string) (c compiled, err error) {
	targets := assign.InEnvironments(w.Records.Targets.Values(), w.Records.Environments.Values(), w.Now().Unix())
	key := commit + " " + assign.EnrolledDigest(targets)
	if c, ok := w.commits.get(key); ok {
		return c, nil
	}
	t, err := w.files()
	if err != nil {
		return c, err
	}
	c.Revision = fleet.Revision{Commit: commit, Time: t.revision.Time, Subject: t.revision.Subject}
	top, modules, err := split(t.files)
	if err != nil {
		return c, wrong(err)
	}
	whole, err := content.Compose(top, modules, assign.EnrolledOf(targets))
	if err != nil {
		return c, wrong(err)
	}
	all, ds := compile.Ask(w.use(), compile.TargetsQuery{About: compile.About{Tree: whole}})
	if err := ds.Err(); err != nil {
		return c, w.wrong(err)
	}
	strategies, ds := compile.Ask(w.use(), compile.StrategiesQuery{About: compile.About{Tree: whole}})
	if err := ds.Err(); err != nil {
		return c, w.wrong(err)
	}
	if c.Compiled, err = assign.Compile(t.files, all, strategies); err != nil {
		return c, wrong(err)
	}
	w.commits.put(key, c)
	return c, nil
}

// wrong returns an answer about a commit that cannot be compiled.
func (w *work) wrong(err error) error {
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return wrong(err)
}

func wrong(err error) error {
	return &api.Refusal{Status: api.BadRequest, Why: "cannot compile the commit: " + err.Error(),
		Hint: "Check the commit in a clone of the repository: fettle validate"}
}

// split returns the parts of a tree, as bundles have them.
func split(t repo.Tree) (top repo.Tree, modules map[string]repo.Tree, err error) {
	parts, err := content.Parts(t)
	modules = map[string]repo.Tree{}
	for _, p := range parts {
		if p != content.RootBundle {
			modules[p] = repo.Sub(t, p)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	top, err = content.RootOf(t)
	return top, modules, err
}
