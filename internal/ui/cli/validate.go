//go:build !target

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/render"
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
	// Group is the target group of which it is an example, where no target is declared in it.
	Group string `json:"group,omitempty"`
}

func newValidate(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the repository: parse, type, compile every target, lint",
		Long: `Compiles every target (or the target of -t) and shows all configuration errors
at once, each with its position. If no target is declared in a target group that
selects by label, an example target with its labels is compiled. Facts are the
facts of this host. No other data is read from a host.`,
		Example: "  fettle validate\n  fettle validate --rev main --json",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return validate(c.Context(), s) },
	}
}

func validate(ctx context.Context, s *session) error {
	src, err := s.openSource(ctx, s.rev)
	if err != nil {
		return err
	}
	defer src.repo.Close()
	examples, ds := s.examples(src)
	targets, more := s.app.Language.targets(src.tree)
	ds = append(ds, more...)
	if s.target != "" && !more.HasErrors() && !slices.Contains(targets, s.target) {
		return unknownTarget(s.target, targets)
	}
	if s.target != "" {
		targets = []string{s.target}
	}
	doc := validateDoc{Format: "fettle.validate/1", Revision: src.rev, Targets: []validTarget{}}
	if !ds.HasErrors() {
		all, _ := runnable(s.printer, src) // a module that no target has may be broken
		for _, c := range all.Commands {
			ds = append(ds, c.Errors...)
		}
		in, err := s.input(ctx, src.tree, "")
		if err != nil {
			return err
		}
		members, more := s.members(in, targets, false)
		ds = append(ds, more...)
		for _, m := range members {
			doc.Targets = append(doc.Targets, validTarget{m.Target, m.Steps, m.Digest, examples[m.Target]})
		}
	}
	ds = distinct(ds)
	doc.OK, doc.Diagnostics = !ds.HasErrors(), diagnosticsJSON(ds)
	return showValid(s, doc, ds)
}

// examples adds a target to each group that selects by label and has none, as if the target were
// enrolled. It returns the groups by the names of these targets.
func (s *printer) examples(src *source) (map[string]string, diag.List) {
	vacant, ds := compile.Ask(s.app.Language.Queries, compile.EmptyGroupsQuery{About: src.about()})
	if len(vacant) == 0 {
		return nil, ds
	}
	of, labels := map[string]string{}, map[string]map[string]string{}
	for _, t := range vacant {
		of[t.Name], labels[t.Name] = strings.Join(t.Groups, ", "), t.Labels
	}
	src.tree = enrolledTree(src.tree, labels)
	return of, ds
}

func showValid(s *session, doc validateDoc, ds diag.List) error {
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
		s.printf("ok  %s  %s%s\n", t.Target, render.Count(t.Steps, "step"), parted("  as any target of the group ", t.Group))
	}
	if len(doc.Targets) == 0 {
		s.printf("ok, but the repository declares no target\n")
	}
	return nil
}
