package repository

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewSteps builds the command steps, to check, compare and apply step files.
func NewSteps(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "steps",
		Short: "Check, compare and apply step files",
		Long: `Checks, compares and applies step files. A step file is a list of atomic steps,
one in each line. Sources of COPY and files of INCLUDE are read from the
directory of the step file, or below it.

  MKDIR /srv/hello mode=0755
  COPY index.html /srv/hello/index.html`,
		Args: cli.Args(1, 0),
	}
	c.AddCommand(newStepsLint(s), newStepsFmt(s), newStepsDiff(s), newStepsPlan(s), newStepsApply(s))
	c.RunE = func(c *cobra.Command, a []string) error { return cli.UnknownCommand(c, a) }
	return c
}

func newStepsFmt(s *cli.Session) *cobra.Command {
	write := false
	c := &cobra.Command{
		Use:     "fmt FILE",
		Short:   "Print a step file in canonical form",
		Long:    "Prints the steps in canonical form: keys in their order, quotes only if they are\nnecessary. Sources and includes are not changed; comments are omitted.",
		Example: "  fettle steps fmt web1.steps\n  fettle steps fmt -w web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			text, err := os.ReadFile(a[0])
			if err != nil {
				return fmt.Errorf("cannot read the step file: %w", err)
			}
			list, ds := step.Parse(a[0], text)
			if err := ds.Err(); err != nil {
				return err
			}
			var b strings.Builder
			if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
				return err
			}
			if !write {
				s.Printf("%s", b.String())
				return nil
			}
			if b.String() == string(text) {
				return nil
			}
			return replaceFile(a[0], []byte(b.String()))
		},
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write the result to the file instead of printing it")
	return c
}

func newStepsDiff(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Show the steps that differ between two step files",
		Long:    "Prints the removed (-) and added (+) steps, as in the files. A source whose\ncontent changed is a changed step. Exits with 2 if there are differences.",
		Example: "  fettle steps diff old.steps new.steps",
		Args:    cli.Args(2, 2),
		RunE: func(_ *cobra.Command, a []string) error {
			old, err := readSteps(s, a[0])
			if err != nil {
				return err
			}
			defer old.close()
			new, err := readSteps(s, a[1])
			if err != nil {
				return err
			}
			defer new.close()
			doc := DiffDoc{Format: "fettle.diff/1", Old: a[0], New: a[1], Targets: []targetDiff{}}
			if lines := diffLinesOf(old.list, new.list); lines != nil {
				doc.Targets = append(doc.Targets, targetDiff{Lines: lines})
			}
			return showDiff(s.Printer, doc, false)
		},
	}
}
