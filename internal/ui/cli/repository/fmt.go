package repository

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/ui/cli"
)

// FmtDoc is the result of fmt as a JSON document.
type FmtDoc struct {
	Format  string   `json:"format"`  // fettle.fmt/1
	Changed []string `json:"changed"` // files that were, or are, not in canonical form
}

// NewFmt builds the command fmt, to format source files.
func NewFmt(s *cli.Session) *cobra.Command {
	check := false
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format source files",
		Long: `Formats the .hcl files of the repository, or of the given paths, and prints the
names of changed files. Comments and meaning are preserved. Files in the other
forms of the language are not changed. - formats standard input.

With --check it writes nothing, and exits with 2 if a file is not in canonical
form.`,
		Example: "  fettle fmt\n  fettle fmt --check\n  fettle fmt - < module.hcl",
		Args:    cli.Args(0, -1),
		RunE: func(_ *cobra.Command, a []string) error {
			if len(a) == 1 && a[0] == "-" {
				return formatStdin(s.Printer)
			}
			if len(a) == 0 {
				a = []string{s.Dir}
			}
			return formatSources(s.Printer, a, check)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "only list the files that would change")
	return c
}

// formatStdin prints the canonical form of its input.
func formatStdin(s *cli.Printer) error {
	in, err := io.ReadAll(s.App.Stdin)
	if err != nil {
		return fmt.Errorf("cannot read standard input: %w", err)
	}
	out, ds := s.App.Language.Format("<stdin>", in)
	if err := ds.Err(); err != nil {
		return err
	}
	_, err = s.App.Stdout.Write(out)
	return err
}

func formatSources(s *cli.Printer, paths []string, check bool) error {
	doc := FmtDoc{Format: "fettle.fmt/1", Changed: []string{}}
	var bad diag.List
	for _, p := range paths {
		files, err := sourceFiles(p)
		if err != nil {
			return err
		}
		for _, file := range files {
			changed, ds, err := formatFile(s, file, check)
			if err != nil {
				return err
			}
			bad = append(bad, ds...)
			if changed {
				doc.Changed = append(doc.Changed, file)
				s.Printf("%s\n", file)
			}
		}
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	}
	if check && len(doc.Changed) > 0 {
		return cli.ErrChanges
	}
	return nil
}
