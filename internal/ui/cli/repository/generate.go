package repository

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewGenerate builds the command generate, to run the repository's generators, and record their
// output.
func NewGenerate(s *cli.Session) *cobra.Command {
	g := &generation{Session: s, done: map[string]bool{},
		doc: GenerateDoc{Format: "fettle.generate/1", Generators: []outside.Generated{}}}
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
		known := slices.ContainsFunc(g.doc.Generators, func(d outside.Generated) bool { return d.Name == n })
		if !known && !g.ds.HasErrors() {
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
	if g.check && slices.ContainsFunc(g.doc.Generators, func(d outside.Generated) bool { return d.State == "differs" }) {
		return cli.ErrChanges
	}
	return nil
}
