package repository

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// LintDoc is the result of steps lint as a JSON document.
type LintDoc struct {
	Format      string               `json:"format"` // fettle.lint/1
	OK          bool                 `json:"ok"`
	Steps       int                  `json:"steps"`
	List        string               `json:"list,omitempty"` // digest
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

func newStepsLint(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "lint FILE",
		Short:   "Check a step file",
		Example: "  fettle steps lint web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error {
			f, err := readSteps(s, a[0])
			if err != nil {
				return err
			}
			defer f.close()
			ds := lint(s.Printer, f.list)
			if s.JSON {
				doc := LintDoc{Format: "fettle.lint/1", OK: !ds.HasErrors(), Steps: len(f.list), List: f.list.Digest(),
					Diagnostics: cli.DiagnosticsJSON(ds)}
				if err := s.Document(doc); err != nil {
					return err
				}
				return cli.Reported(ds.Err())
			}
			if err := ds.Err(); err != nil {
				return err
			}
			s.Warnings(ds)
			s.Printf("ok  %s  %s\n", a[0], render.Count(len(f.list), "step"))
			return nil
		},
	}
}
