package repository

import (
	"context"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// testFlags are the flags of fettle test.
type testFlags struct {
	update bool
	junit  string
}

// NewTest builds the command test, to run the tests that are written beside the modules.
func NewTest(s *cli.Session) *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test [TEXT…]",
		Short: "Run the tests that are written beside the modules",
		Long: `Runs the test blocks in modules/NAME/tests/*.hcl and tests/*.hcl, or the tests
whose file or name contains one of the texts. A test compiles a module, or a
target, with given facts, labels and variables, and checks the step list. It
reads nothing from a host. Exits with 1 if a test fails.`,
		Example: "  fettle test\n  fettle test modules/web\n  fettle test --update\n  fettle test --junit report.xml",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return test(c.Context(), s, a, f) },
	}
	c.Flags().BoolVar(&f.update, "update", false, "write the files that contain whole step lists, if they differ")
	c.Flags().StringVar(&f.junit, "junit", "", "write the results to this `FILE` as JUnit XML too")
	return c
}

func test(ctx context.Context, s *cli.Session, texts []string, f testFlags) error {
	if f.update && s.Rev != "" {
		return cli.Refuse("Omit --rev: the lists are written to the work tree", "cannot update the lists of a revision")
	}
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	ids, ds := compile.Ask(s.App.Language.Queries, compile.TestsQuery{About: src.About()})
	if err := ds.Err(); err != nil {
		return err
	}
	s.Warnings(ds)
	verdicts, err := runTests(ctx, s.Printer, src.Tree, matching(ids, texts))
	if err != nil {
		return err
	}
	doc := TestsDoc{Format: "fettle.test/1", OK: true, Revision: src.Rev, Tests: []testDoc{}}
	if f.update {
		if doc.Updated, err = updateLists(s, verdicts); err != nil {
			return err
		}
	}
	for _, v := range verdicts {
		file, name, _ := strings.Cut(v.ID, " ")
		t := testDoc{file, name, !v.Failures.HasErrors(), cli.DiagnosticsJSON(v.Failures)}
		doc.Tests, doc.OK = append(doc.Tests, t), doc.OK && t.OK
	}
	if f.junit != "" {
		if err := writeJUnit(f.junit, doc); err != nil {
			return err
		}
	}
	return showTests(s.Printer, doc, verdicts, len(ids))
}

// matching leaves the tests whose ID holds one of the texts.
func matching(ids, texts []string) []string {
	if len(texts) == 0 {
		return ids
	}
	var out []string
	for _, id := range ids {
		for _, t := range texts {
			if strings.Contains(id, t) {
				out = append(out, id)
				break
			}
		}
	}
	return out
}

// runTests runs them side by side and gives the verdicts in their order.
func runTests(ctx context.Context, s *cli.Printer, tree repo.Tree, ids []string) ([]compile.Verdict, error) {
	sealed := s.App.Language.Sealed
	if sealed == nil {
		sealed = s.App.Language.Queries
	}
	out := make([]compile.Verdict, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			out[i] = runTest(sealed, tree, id)
			return nil
		})
	}
	return out, g.Wait()
}

func runTest(by compile.Answerer, tree repo.Tree, id string) compile.Verdict {
	v, failed := compile.Ask(by, compile.TestQuery{About: compile.About{Tree: tree}, ID: id})
	v.ID = id
	if failed.HasErrors() {
		v.Failures = failed
	}
	return v
}
