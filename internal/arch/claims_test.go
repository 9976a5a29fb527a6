package arch

import (
	"fmt"
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
	partOf    = regexp.MustCompile(`(?m)^- \*\*([A-Z][a-z]+):\*\*`)
	declared  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// TestSecurityClaims: each threat has its protection, its limits and tests, and each named test
// exists in the package of that name.
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

// threatParts are the parts of each threat, in this order.
var threatParts = []string{"Protection", "Limits", "Tests"}

// claimProblems returns the threats without protection, limits or tests, and the named tests
// that do not exist. A section is a threat if its heading has four marks or it has one of the parts.
func claimProblems(text string, tests map[string]bool) (out []string) {
	threats := 0
	for _, section := range strings.Split("\n"+text, "\n#") {
		heading, body, _ := strings.Cut(section, "\n")
		name, threat := strings.TrimLeft(heading, "# "), strings.HasPrefix(heading, "### ")
		parts := partOf.FindAllStringSubmatchIndex(body, -1)
		if !threat && len(parts) == 0 {
			continue
		}
		threats++
		var names []string
		for _, p := range parts {
			names = append(names, body[p[2]:p[3]])
		}
		switch {
		case !slices.Equal(names, threatParts):
			out = append(out, fmt.Sprintf("%s: the parts are %q instead of %q", name, names, threatParts))
		case strings.TrimSpace(body[parts[0][1]:parts[1][0]]) == "" || strings.TrimSpace(body[parts[1][1]:parts[2][0]]) == "":
			out = append(out, "a part is empty: "+name)
		case !namedTest.MatchString(body[parts[2][1]:]):
			out = append(out, "no test shows this: "+name)
		}
	}
	if threats == 0 {
		out = append(out, "the page describes no threat")
	}
	return append(out, missingTests(text, tests)...)
}

// missingTests returns a problem for each named test that does not exist.
func missingTests(text string, tests map[string]bool) (out []string) {
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		if name := m[1] + "." + m[2] + m[3]; !tests[name] {
			out = append(out, "this test does not exist: "+name)
		}
	}
	return out
}

func TestClaimProblems(t *testing.T) {
	threat := func(name, protection, limits, tests string) string {
		return "#### " + name + "\n\n- **Protection:** " + protection + "\n- **Limits:** " + limits + "\n- **Tests:** " +
			tests + "\n\n"
	}
	exist := map[string]bool{"x.TestA": true, "y.TestC": true, "x.TestScripts/s": true}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"# page\n\n" + threat("a", "p", "l", "`x.TestA`,\n  `x.TestScripts/s`") + "## other\n\ntext\n", nil},
		{threat("a", "p", "l", "`x.TestA`") + threat("b", "p", "l", "none"), []string{"no test shows this: b"}},
		{threat("b", "p `x.TestA`", "l", ""), []string{"no test shows this: b"}},
		{threat("b", "p", "", "`x.TestA`"), []string{"a part is empty: b"}},
		{threat("c", "p", "l", "`x.TestA`, `x.TestC`, `x.TestScripts/t`"),
			[]string{"this test does not exist: x.TestC", "this test does not exist: x.TestScripts/t"}},
		{"#### d\n\n- **Protection:** p\n- **Limits:** l\n",
			[]string{`d: the parts are ["Protection" "Limits"] instead of ["Protection" "Limits" "Tests"]`}},
		{"#### e\n\ntext\n", []string{`e: the parts are [] instead of ["Protection" "Limits" "Tests"]`}},
		{"## f\n\n- **Protection:** p\n",
			[]string{`f: the parts are ["Protection"] instead of ["Protection" "Limits" "Tests"]`}},
		{"# page\n\n| threat | shown by |\n", []string{"the page describes no threat"}},
	} {
		if got := claimProblems(c.text, exist); !slices.Equal(got, c.want) {
			t.Errorf("%q: found %q, want %q", c.text, got, c.want)
		}
	}
}
