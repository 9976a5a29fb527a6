package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// world writes a small module and goes into it.
func world(t *testing.T, code, test string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/in.go": code, "p/in_test.go": test,
		"same.txt": "# none\n"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// output gives what run prints, and its error.
func output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = w
	said := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		said <- string(b)
	}()
	err = run(t.Context(), args)
	os.Stdout = old
	_ = w.Close()
	return <-said, err
}

// TestFind: the mutants of every operator, those that do not compile left out.
// Rewrite the list with -update, and read what changed.
func TestFind(t *testing.T) {
	file, err := filepath.Abs("testdata/find.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	world(t, string(a.Files[0].Data), "package p\n")
	got, err := output(t, "-equivalent", "same.txt", "-list", "p")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		a.Files[1].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(a.Files[1].Data); got != want {
		t.Errorf("the mutants are\n%swant\n%s", got, want)
	}
}

const counter = `package p

func Below(n int) bool { return n < 10 }

func Twice(n int) int {
	if n == 0 {
		return 0
	}
	return n + n
}
`

// TestJudge: what a test notices is killed, what none does survives, and what
// is listed as equal does not count. The tree stays as it is.
func TestJudge(t *testing.T) {
	world(t, counter, `package p

import "testing"

func TestAll(t *testing.T) {
	if !Below(9) || Below(11) || Twice(2) != 4 || Twice(0) != 0 {
		t.Fatal()
	}
}
`)
	said, err := output(t, "-equivalent", "same.txt", "-floor", "70", "p")
	if err == nil || !strings.Contains(err.Error(), "the floor is 70") {
		t.Errorf("error %v\n%s", err, said)
	}
	for _, want := range []string{
		"survived p/in.go:3: p Below operator: n < 10 -> n <= 10\n",
		"survived p/in.go:6: p Twice stay: n == 0 -> false && (n == 0)\n",
		"killed   p/in.go:9: p Twice operator: n + n -> n - n\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the report lacks %q:\n%s", want, said)
		}
	}
	said, err = output(t, "-equivalent", "same.txt", "-floor", "70", "p", "p")
	if n := strings.Count(said, "% killed"); err == nil || n != 2 {
		t.Errorf("below the floor, %d of two packages are looked at: %v", n, err)
	}
	same := "p Twice stay: n == 0 -> false && (n == 0)  # zero twice is zero\np Gone stay: x -> y  # no more\n"
	if err := os.WriteFile("same.txt", []byte(same), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err = output(t, "-equivalent", "same.txt", "-only", "Twice stay", "p")
	if err == nil || !strings.HasSuffix(err.Error(), "no longer exist: p Gone stay: x -> y") ||
		!strings.Contains(said, "0 mutants (seed 1), 0 killed, 0 survived: 0.0 % killed; 1 more") {
		t.Errorf("a line about a mutant that does not exist: %v\n%s", err, said)
	}
	if err := os.WriteFile("same.txt", []byte(strings.Split(same, "p Gone")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err = output(t, "-equivalent", "same.txt", "-only", "Twice stay", "p"); err != nil {
		t.Errorf("error %v\n%s", err, said)
	}
	if text, err := os.ReadFile("p/in.go"); err != nil || string(text) != counter {
		t.Errorf("the tree has changed: %v\n%s", err, text)
	}
}

// TestSkip: a test that is left out notices nothing, in its short form and in full, and need not pass.
func TestSkip(t *testing.T) {
	world(t, counter, "package p\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n\n"+
		"func TestLong(t *testing.T) {\n\tif !testing.Short() || Below(9) {\n\t\tt.Fatal()\n\t}\n}\n")
	said, err := output(t, "-equivalent", "same.txt", "-skip", "^TestLong$", "-only", "operator", "p")
	for _, want := range []string{"survived p/in.go:3: p Below operator", "killed   p/in.go:9: p Twice operator"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("the report lacks %q: %v\n%s", want, err, said)
		}
	}
}

// TestEndless: a test that never ends under a mutant has noticed it.
func TestEndless(t *testing.T) {
	if os.Getenv("MUTANTS_WAIT") != "" {
		for {
			time.Sleep(time.Hour)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MUTANTS_WAIT", "yes")
	b := &bench{t: &target{root: t.TempDir()}, limit: time.Second}
	r, err := b.execute(t.Context(), job{binary: self, flags: []string{"-test.run=^TestEndless$"}})
	if err != nil || !r.failed {
		t.Errorf("failed %v, error %v", r.failed, err)
	}
}

// TestRefusals: nothing is broken when the tests do not pass to begin with.
func TestRefusals(t *testing.T) {
	world(t, counter, "package p\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) { t.Fatal() }\n")
	for name, args := range map[string][]string{
		"the tests fail without any mutant": {"-equivalent", "same.txt", "p"},
		"one package that compiles":         {"-equivalent", "same.txt", "q"},
		"name the directories":              {"-equivalent", "same.txt"},
		"no such file":                      {"-equivalent", "none.txt", "p"},
	} {
		if said, err := output(t, args...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q\n%s", err, name, said)
		}
	}
	if err := os.WriteFile("same.txt", []byte(fmt.Sprintf("%s\n", "p Twice stay: a -> b")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := output(t, "-equivalent", "same.txt", "p"); err == nil ||
		!strings.Contains(err.Error(), "the reason is missing") {
		t.Errorf("error %v", err)
	}
}

// TestSampleIsOfItsSeed: the same seed takes the same mutants.
func TestSampleIsOfItsSeed(t *testing.T) {
	world(t, counter, "package p\n")
	seen := map[string]bool{}
	for _, seed := range []string{"1", "1", "2", "3", "4"} {
		said, err := output(t, "-equivalent", "same.txt", "-list", "-count", "3", "-seed", seed, "p")
		if err != nil || strings.Count(said, "\n") != 3 {
			t.Fatalf("error %v\n%s", err, said)
		}
		if seed == "1" && len(seen) == 1 && !seen[said] {
			t.Error("the same seed takes another sample")
		}
		seen[said] = true
	}
	if len(seen) < 2 {
		t.Error("every seed takes the same sample")
	}
}
