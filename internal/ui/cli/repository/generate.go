package repository

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// GenerateDoc tells what generators printed.
type GenerateDoc struct {
	Format      string               `json:"format"` // fettle.generate/1
	Generators  []generatedDoc       `json:"generators"`
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

type generatedDoc struct {
	Name     string `json:"name"`
	File     string `json:"file"`          // that holds what was printed
	Declared string `json:"declared"`      // file:line
	State    string `json:"state"`         // current, written, same, differs or failed
	Why      string `json:"why,omitempty"` // why it must run
	Diff     string `json:"diff,omitempty"`
}

// generation is one call of the command.
type generation struct {
	*cli.Session
	names        []string
	force, check bool
	doc          GenerateDoc
	done         map[string]bool // by lock file
	ds           diag.List
}

// NewGenerate builds the command generate, to run the repository's generators, and record their
// output.
func NewGenerate(s *cli.Session) *cobra.Command {
	g := &generation{Session: s, done: map[string]bool{},
		doc: GenerateDoc{Format: "fettle.generate/1", Generators: []generatedDoc{}}}
	c := &cobra.Command{
		Use:   "generate [NAME…]",
		Short: "Run the repository's generators, and record their output",
		Long: `Runs the programs of all generators whose command, input or files have changed.
With NAME, only these generators are considered. It runs them for every target
(or the target of -t), with the facts of this host.

A program runs twice, in a sandbox. It has a copy of its inputs, the programs
below /usr, standard input and output, and a time limit. It has no network, no
other files, and no place to write to. The output is shown as a diff and written
to generated/ in the directory of the module; commit it. No other command runs
generators: a repository compiles from the recorded output.

With --check, unchanged generators run too, and nothing is written. It exits
with 2 if a generator has changed, or if its output differs from the recorded
output.`,
		Example: "  fettle generate\n  fettle generate users --force\n  fettle generate --check",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			g.names = a
			return g.run(c.Context())
		},
	}
	c.Flags().BoolVar(&g.force, "force", false, "also run generators whose inputs have not changed")
	c.Flags().BoolVar(&g.check, "check", false, "write nothing, and report whether something would change")
	return c
}

// run continues as long as the output of a generator adds generators.
func (g *generation) run(ctx context.Context) error {
	for wrote := true; wrote; {
		var err error
		if wrote, err = g.pass(ctx); err != nil {
			return err
		}
	}
	for _, n := range g.names {
		if !slices.ContainsFunc(g.doc.Generators, func(d generatedDoc) bool { return d.Name == n }) && !g.ds.HasErrors() {
			return cli.Refuse("List them: fettle generate", fmt.Sprintf("no target has a generator %q", n))
		}
	}
	g.ds = distinct(g.ds)
	g.doc.Diagnostics = cli.DiagnosticsJSON(g.ds)
	if g.JSON {
		if err := g.Document(g.doc); err != nil {
			return err
		}
		if g.ds.HasErrors() {
			return cli.Reported(g.ds.Err())
		}
	}
	if err := g.ds.Err(); err != nil {
		return err
	}
	if len(g.doc.Generators) == 0 {
		g.Printf("No target has a generator.\n")
	}
	if g.check && slices.ContainsFunc(g.doc.Generators, func(d generatedDoc) bool { return d.State == "differs" }) {
		return cli.ErrChanges
	}
	return nil
}

// pass runs the generators that have not run yet. Only the errors of the last pass count: the first
// pass lacks their output.
func (g *generation) pass(ctx context.Context) (wrote bool, err error) {
	src, err := openWorkTree(ctx, g.Session)
	if err != nil {
		return false, err
	}
	defer src.Repo.Close()
	targets, ds := g.App.Language.Targets(src.Tree)
	if err := ds.Err(); err != nil {
		return false, err
	}
	if g.Target != "" && !slices.Contains(targets, g.Target) {
		return false, cli.UnknownTarget(g.Target, targets)
	}
	if g.Target != "" {
		targets = []string{g.Target}
	}
	g.ds = slices.DeleteFunc(g.ds, func(d diag.Diagnostic) bool { return !g.failed(d) })
	for _, t := range targets {
		in, err := g.Input(ctx, src.Tree, t)
		if err != nil {
			return false, err
		}
		runs, _ := compile.Ask(g.App.Language.Queries, compile.GeneratorsQuery{Input: in})
		ran := false
		for _, r := range runs {
			if lock := path.Join(r.Directory, r.LockFile()); !g.done[lock] &&
				(len(g.names) == 0 || slices.Contains(g.names, r.Name)) {
				g.done[lock], ran = true, true
				if err := g.one(ctx, src, r); err != nil {
					return false, err
				}
			}
		}
		wrote = wrote || ran
		if !ran && !g.check {
			_, ds := g.App.Language.Compile(in)
			g.ds = append(g.ds, ds...)
		}
	}
	return wrote, nil
}

// failed tells whether a mistake is one of a generator that ran in this call.
func (g *generation) failed(d diag.Diagnostic) bool {
	return slices.ContainsFunc(g.doc.Generators, func(x generatedDoc) bool {
		return x.State == "failed" && (x.Declared == cli.PlaceText(d.Range) || x.File == d.Range.File)
	})
}

// one runs a generator where it has to, and records what it prints.
func (g *generation) one(ctx context.Context, src *workspace.Source, r generator.Run) error {
	d := generatedDoc{Name: r.Name, File: path.Join(r.Directory, r.OutputFile()), Declared: cli.PlaceText(r.Range),
		State: "current", Why: r.Why}
	defer func() {
		g.doc.Generators = append(g.doc.Generators, d)
		g.show(d)
	}()
	if r.Why == "" && !g.force && !g.check {
		return nil
	}
	printed, err := g.App.Programs.Generate(ctx, src.Tree, r)
	var bad *diag.ListError
	if errors.As(err, &bad) {
		d.State = "failed"
		g.ds = append(g.ds, bad.List...)
		return nil
	}
	if err != nil {
		d.State = "failed"
		return err
	}
	old, _ := src.Tree.ReadFile(d.File) // none is like an empty one
	d.State, d.Diff = "same", udiff.Unified("a/"+d.File, "b/"+d.File, string(old), string(printed))
	if r.Why == "" && d.Diff == "" {
		return nil
	}
	if d.State = "differs"; g.check {
		return nil
	}
	d.State = "written"
	lock, err := r.Record(printed).Bytes()
	if err == nil {
		err = cli.WriteInto(src.Directory(), d.File, printed)
	}
	if err == nil {
		err = cli.WriteInto(src.Directory(), path.Join(r.Directory, r.LockFile()), lock)
	}
	return err
}

func (g *generation) show(d generatedDoc) {
	if g.JSON {
		return
	}
	why := ""
	if d.Why != "" {
		why = " (" + d.Why + ")"
	}
	g.Printf("%s %s%s\n", d.File, d.State, why)
	if d.Diff == "" {
		return
	}
	limit := 20
	if g.Verbose {
		limit = -1
	}
	g.Style().Diff(g.App.Stdout, d.Diff, "  ", limit)
}

// distinct leaves out what was said before: a mistake in a module is found
// once for each target that uses it.
func distinct(ds diag.List) diag.List {
	seen := map[string]bool{}
	var out diag.List
	for _, d := range ds {
		if key := fmt.Sprintf("%s %s", d.Range, d); !seen[key] {
			seen[key] = true
			out = append(out, d)
		}
	}
	out.Sort()
	return out
}
