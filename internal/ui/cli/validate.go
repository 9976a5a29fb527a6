package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
)

type validateDoc struct {
	Format      string           `json:"format"` // fettle.validate/1
	OK          bool             `json:"ok"`
	Revision    repo.Revision    `json:"revision"`
	Targets     []validTarget    `json:"targets"`
	Diagnostics []diagnosticJSON `json:"diagnostics,omitempty"`
}

type validTarget struct {
	Target string `json:"target"`
	Steps  int    `json:"steps"`
	List   string `json:"list"` // digest
}

func newValidate(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the repository: parse, type, compile every target, lint",
		Long: `Compiles every target (or the one that -t names) and shows all mistakes at once,
each with its place. Facts are those of the machine that it runs on. Nothing
else of a machine is looked at.`,
		Example: "  fettle validate\n  fettle validate --rev main --json",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return s.validate(c.Context()) },
	}
}

func (s *session) validate(ctx context.Context) error {
	src, err := s.openSource(ctx, s.rev)
	if err != nil {
		return err
	}
	defer src.repo.Close()
	targets, ds := s.app.Language.Targets(src.tree)
	if s.target != "" {
		targets = []string{s.target}
	}
	doc := validateDoc{Format: "fettle.validate/1", Revision: src.rev, Targets: []validTarget{}}
	if !ds.HasErrors() {
		all, _ := s.runnable(src) // a module that no target has may be broken
		for _, c := range all.Commands {
			ds = append(ds, c.Mistakes...)
		}
		in, err := s.input(ctx, src.tree, "")
		if err != nil {
			return err
		}
		members, more := s.members(in, targets, false)
		ds = append(ds, more...)
		for _, m := range members {
			doc.Targets = append(doc.Targets, validTarget{m.Target, m.Steps, m.Digest})
		}
	}
	ds = distinct(ds)
	doc.OK, doc.Diagnostics = !ds.HasErrors(), diagnosticsJSON(ds)
	return s.showValid(doc, ds)
}

func (s *session) showValid(doc validateDoc, ds diag.List) error {
	if s.json {
		if err := s.document(doc); err != nil {
			return err
		}
		return reported(ds.Err())
	}
	if err := ds.Err(); err != nil {
		return err
	}
	s.warnings(ds)
	for _, t := range doc.Targets {
		s.printf("ok  %s  %d steps\n", t.Target, t.Steps)
	}
	if len(doc.Targets) == 0 {
		s.printf("ok, but the repository declares no target\n")
	}
	return nil
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
