package repository

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// ListDoc is a step list as a JSON document.
type ListDoc struct {
	Format   string        `json:"format"` // fettle.list/1
	Target   string        `json:"target"`
	Revision repo.Revision `json:"revision"`
	List     string        `json:"list"` // digest
	Steps    []stepDoc     `json:"steps"`
}

type stepDoc struct {
	Step   string    `json:"step"`
	Addr   addr.Addr `json:"addr"`
	Source string    `json:"source,omitempty"`
}

// NewCompile builds the command compile, to print the step list of a target.
func NewCompile(s *cli.Session) *cobra.Command {
	bare := false
	c := &cobra.Command{
		Use:   "compile",
		Short: "Print the step list of a target",
		Long: `Compiles the repository for one target, and prints the list of atomic steps.
Each step has its place in the source. The same revision, facts and variables
produce the same bytes on any host. States that need the output of a command
are deferred and listed at the end, because only a run can determine this
output.`,
		Example: "  fettle compile\n  fettle compile -t web1 --rev v1.4 --no-sources > web1.steps",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return printList(c.Context(), s, bare) },
	}
	c.Flags().BoolVar(&bare, "no-sources", false, "omit the source of each step")
	return c
}

func printList(ctx context.Context, s *cli.Session, bare bool) error {
	req, closing, err := s.Request(ctx, false)
	if err != nil {
		return err
	}
	defer closing()
	if err := req.Fill(); err != nil {
		return err
	}
	if s.JSON {
		doc := ListDoc{Format: "fettle.list/1", Target: req.Target, Revision: req.Revision, List: req.List.Digest(),
			Steps: stepDocs(req.List)}
		return s.Document(doc)
	}
	if err := step.Print(s.App.Stdout, req.List, step.PrintOptions{Source: !bare}); err != nil {
		return fmt.Errorf("cannot print the list: %w", err)
	}
	for _, h := range req.Deferred {
		s.Printf("# deferred until a run provides a value: %s at %s\n", h.ID, h.Source)
	}
	return nil
}

func stepDocs(l step.List) []stepDoc {
	out := []stepDoc{}
	for _, st := range l {
		out = append(out, stepDoc{st.String(), st.Addr(), st.Source})
	}
	return out
}
