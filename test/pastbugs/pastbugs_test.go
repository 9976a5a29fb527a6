package pastbugs

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// root is the module's directory, from here.
const root = "../.."

// bug is one file of this directory.
type bug struct {
	file, pkg, test string
	old, new        string
}

func read(t *testing.T, name string) bug {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Files) != 2 || a.Files[0].Name != "old" || a.Files[1].Name != "new" {
		t.Fatalf("%s has other parts than old and new", name)
	}
	values := map[string]string{}
	prose := false
	for line := range strings.Lines(string(a.Comment)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.Contains(key, " ") {
			values[key] = value
		} else if strings.TrimSpace(line) != "" {
			prose = true
		}
	}
	b := bug{values["file"], values["package"], values["test"], string(a.Files[0].Data), string(a.Files[1].Data)}
	if !prose || b.file == "" || b.pkg == "" || b.test == "" || b.old == "" || b.old == b.new {
		t.Fatalf("%s lacks what went wrong, file:, package:, test:, or the bug itself", name)
	}
	return b
}

// put gives the text of the bug's file with the bug in it.
func (b bug) put(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		t.Fatalf("%s has the old text %d times and not once: write it anew, so that it stands for the same bug:\n%s",
			b.file, n, b.old)
	}
	out := strings.Replace(string(text), b.old, b.new, 1)
	if _, err := parser.ParseFile(token.NewFileSet(), b.file, out, parser.SkipObjectResolution); err != nil {
		t.Fatalf("the bug is no Go: %v", err)
	}
	return []byte(out)
}

// hasTest tells whether the package still has the test.
func (b bug) hasTest(t *testing.T) bool {
	t.Helper()
	name, _, _ := strings.Cut(b.test, "/")
	files, err := filepath.Glob(filepath.Join(root, b.pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// run builds the package with the bug in it and runs its test.
func (b bug) run(t *testing.T, text []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.go")
	file, err := filepath.Abs(filepath.Join(root, b.file))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{broken: text, filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts := strings.Split(b.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	binary := filepath.Join(dir, "broken.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay",
		filepath.Join(dir, "overlay.json"), "-o", binary, "./"+b.pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the bug does not compile: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.failfast", "-test.timeout=10m",
		"-test.run="+strings.Join(parts, "/"))
	cmd.Dir = filepath.Join(root, b.pkg)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestPastBugs: each bug still fits the code, and in the long form its test
// fails with it.
func TestPastBugs(t *testing.T) {
	names, err := filepath.Glob("*.txtar")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d bugs, error %v", len(names), err)
	}
	long := os.Getenv("FETTLE_LONG") != ""
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			b := read(t, name)
			text := b.put(t)
			if !b.hasTest(t) {
				t.Fatalf("%s has no %s any more: name the test that finds this bug now", b.pkg, b.test)
			}
			if !long {
				return
			}
			out, err := b.run(t, text)
			if !strings.Contains(out, "=== RUN   "+b.test) {
				t.Fatalf("the test did not run: %v\n%s", err, out)
			}
			if err == nil {
				t.Errorf("%s passes with the bug in %s", b.test, b.file)
			}
		})
	}
}
