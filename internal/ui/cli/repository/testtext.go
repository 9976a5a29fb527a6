package repository

import (
	"fmt"
	"path/filepath"

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
