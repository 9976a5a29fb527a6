package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// TestsDoc is the result of test as a JSON document.
type TestsDoc struct {
	Format   string        `json:"format"` // fettle.test/1
	OK       bool          `json:"ok"`
	Revision repo.Revision `json:"revision"`
	Tests    []testDoc     `json:"tests"`
	Updated  []string      `json:"updated,omitempty"` // files that hold a list, written by --update
}

type testDoc struct {
	File        string               `json:"file"`
	Name        string               `json:"name"`
	OK          bool                 `json:"ok"`
	Diagnostics []cli.DiagnosticJSON `json:"diagnostics,omitempty"`
}

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

// updateLists writes the files of those tests whose list differs, and takes the
// difference out of their verdicts.
func updateLists(s *cli.Session, verdicts []compile.Verdict) ([]string, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot update the lists: %w", err)
	}
	defer root.Close()
	var written []string
	for i, v := range verdicts {
		old, err := root.ReadFile(v.Golden)
		if v.Golden == "" || err == nil && string(old) == v.List {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return written, fmt.Errorf("cannot update %s: %w", v.Golden, err)
		}
		if err := root.WriteFile(v.Golden, []byte(v.List), 0o644); err != nil {
			return written, fmt.Errorf("cannot update %s: %w", v.Golden, err)
		}
		written = append(written, path.Clean(v.Golden))
		verdicts[i].Failures = v.Others()
	}
	return written, nil
}

func showTests(s *cli.Printer, doc TestsDoc, verdicts []compile.Verdict, all int) error {
	failed := 0
	for _, t := range doc.Tests {
		if !t.OK {
			failed++
		}
	}
	var err error
	if failed > 0 {
		err = fmt.Errorf("%s of %d failed", render.Count(failed, "test"), len(doc.Tests))
	}
	if s.JSON {
		if derr := s.Document(doc); derr != nil {
			return derr
		}
		return cli.Reported(err)
	}
	rows := make([]render.Pair, len(doc.Tests))
	for i, t := range doc.Tests {
		rows[i] = render.Pair{Name: fmt.Sprintf("%-6s  %s", map[bool]string{true: "ok", false: "FAILED"}[t.OK], t.File),
			Value: t.Name}
	}
	s.Style().Pairs(s.App.Stdout, rows)
	for _, name := range doc.Updated {
		s.Printf("updated  %s\n", filepath.ToSlash(name))
	}
	for _, v := range verdicts {
		if len(v.Failures) > 0 {
			s.Printf("\n%s\n", render.Escape(v.ID))
			s.Style().Diagnostics(s.App.Stdout, v.Failures)
		}
	}
	switch {
	case all == 0:
		s.Printf("The repository has no tests. Write them in modules/NAME/tests/*.hcl.\n")
	case len(doc.Tests) == 0:
		return cli.Refuse("Use a part of the name of a file or of a test, or omit it", "no test has this name")
	case err == nil:
		s.Printf("\n%s passed\n", render.Count(len(doc.Tests), "test"))
	}
	return err
}
