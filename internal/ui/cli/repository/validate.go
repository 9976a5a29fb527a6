package repository

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

// ValidateDoc is the result of validate as a JSON document.
type ValidateDoc struct {
	Format      string               `json:"format"` // fettle.validate/1
	OK          bool                 `json:"ok"`
	Revision    repo.Revision        `json:"revision"`
	Targets     []validTarget        `json:"targets"`
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

type validTarget struct {
	Target string `json:"target"`
	Steps  int    `json:"steps"`
	List   string `json:"list"` // digest
	// Group is the target group of which it is an example, where no target is declared in it.
	Group string `json:"group,omitempty"`
}

// NewValidate builds the command validate, to check the repository: parse, type, compile every
// target, lint.
func NewValidate(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the repository: parse, type, compile every target, lint",
		Long: `Compiles every target (or the target of -t) and shows all configuration errors
at once, each with its position. If no target is declared in a target group that
selects by label, an example target with its labels is compiled. Facts are the
facts of this host. No other data is read from a host.`,
		Example: "  fettle validate\n  fettle validate --rev main --json",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return validate(c.Context(), s) },
	}
}

func validate(ctx context.Context, s *cli.Session) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	examples, ds := addExamples(s.Printer, src)
	targets, more := s.App.Language.Targets(src.Tree)
	_, unfit := compile.Ask(s.App.Language.Queries, compile.ScopesQuery{About: compile.About{Tree: src.Tree}})
	_, apart := compile.Ask(s.App.Language.Queries, compile.WaitsQuery{About: compile.About{Tree: src.Tree}})
	ds = slices.Concat(ds, more, unfit, apart)
	if s.Target != "" && !more.HasErrors() && !slices.Contains(targets, s.Target) {
		return cli.UnknownTarget(s.Target, targets)
	}
	if s.Target != "" {
		targets = []string{s.Target}
	}
	doc := ValidateDoc{Format: "fettle.validate/1", Revision: src.Rev, Targets: []validTarget{}}
	if !ds.HasErrors() {
		all, _ := once.Runnable(s.Printer, src) // a module that no target has may be broken
		for _, c := range all.Commands {
			ds = append(ds, c.Errors...)
		}
		in, err := s.Input(ctx, src.Tree, "")
		if err != nil {
			return err
		}
		members, more := s.Members(in, targets, false)
		ds = append(ds, more...)
		for _, m := range members {
			doc.Targets = append(doc.Targets, validTarget{m.Target, m.Steps, m.Digest, examples[m.Target]})
		}
	}
	ds = distinct(ds)
	doc.OK, doc.Diagnostics = !ds.HasErrors(), cli.DiagnosticsJSON(ds)
	return showValid(s, doc, ds)
}

// addExamples adds a target to each group that selects by label and has none, as if the target were
// enrolled. It returns the groups by the names of these targets.
func addExamples(s *cli.Printer, src *workspace.Source) (map[string]string, diag.List) {
	vacant, ds := compile.Ask(s.App.Language.Queries, compile.EmptyGroupsQuery{About: src.About()})
	if len(vacant) == 0 {
		return nil, ds
	}
	of, labels := map[string]string{}, map[string]map[string]string{}
	for _, t := range vacant {
		of[t.Name], labels[t.Name] = strings.Join(t.Groups, ", "), t.Labels
	}
	src.Tree = workspace.EnrolledTree(src.Tree, fleet.EnrolledWith(labels))
	return of, ds
}

func showValid(s *cli.Session, doc ValidateDoc, ds diag.List) error {
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
		return cli.Reported(ds.Err())
	}
	if err := ds.Err(); err != nil {
		return err
	}
	s.Warnings(ds)
	for _, t := range doc.Targets {
		s.Printf("ok  %s  %s%s\n", t.Target, render.Count(t.Steps, "step"),
			hubclient.Parted("  as any target of the group ", t.Group))
	}
	if len(doc.Targets) == 0 {
		s.Printf("ok, but the repository declares no target\n")
	}
	return nil
}

// distinct returns the errors sorted and without repetitions: an error in a module is found once for
// each target that uses the module.
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
