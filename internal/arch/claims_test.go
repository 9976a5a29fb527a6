package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const claimsFile = "docs/fleet-security.md"

var (
	namedTest = regexp.MustCompile("`([a-z0-9]+)\\.(Test[A-Za-z0-9]+)(/[a-z0-9-]+)?`")
	declared  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// TestSecurityClaims: each row about a threat names tests, and each named test exists in the
// package of that name.
func TestSecurityClaims(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", claimsFile))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := declaredTests("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range claimProblems(string(text), tests) {
		t.Error(problem)
	}
}

// declaredTests returns the names of all tests as PACKAGE.NAME, and of the scripts of the
// command line as PACKAGE.NAME/SCRIPT. A package is known by its directory.
func declaredTests(root string) (map[string]bool, error) {
	out := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case strings.HasSuffix(path, "testdata/script/"+d.Name()):
			pkg := filepath.Base(strings.TrimSuffix(path, "/testdata/script/"+d.Name()))
			out[pkg+".TestScripts/"+strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(source, -1) {
				out[filepath.Base(filepath.Dir(path))+"."+string(m[1])] = true
			}
		}
		return nil
	})
	return out, err
}

// claimProblems returns the rows without a test, and the named tests that do not exist.
func claimProblems(text string, tests map[string]bool) (out []string) {
	shown := false // the present table has a column of tests
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			shown = false
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case last == "shown by":
			shown = true
		case !shown || strings.Trim(last, "-: ") == "":
		case !namedTest.MatchString(last):
			out = append(out, "no test shows this: "+strings.TrimSpace(cells[0]))
		}
		for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
			if name := m[1] + "." + m[2]; !tests[name+m[3]] && !slices.Contains(out, name) {
				out = append(out, "this test does not exist: "+name+m[3])
			}
		}
	}
	return out
}

func TestClaimProblems(t *testing.T) {
	text := "| threat | shown by |\n|---|---|\n| a | `x.TestA` |\n| b | none |\n| c | `x.TestC`, `x.TestScripts/s` |\n\n| who | can |\n|---|---|\n| d | e |\n"
	got := claimProblems(text, map[string]bool{"x.TestA": true, "y.TestC": true, "x.TestScripts/s": true})
	if want := []string{"no test shows this: b", "this test does not exist: x.TestC"}; !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}
