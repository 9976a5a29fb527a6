package examples

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/format"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/step"
)

var update = flag.Bool("update", false, "rewrite the lists; review the difference like code")

func TestExamples(t *testing.T) {
	for _, dir := range repositories(t) {
		t.Run(dir, func(t *testing.T) { example(t, dir) })
	}
}

// repositories returns the directories of all examples.
func repositories(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"*/fettle.hcl", "cookbook/*/fettle.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no examples", err)
		}
		for _, file := range files {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs
}

// bookworm are the facts that examples use.
func bookworm() map[string]cty.Value {
	return map[string]cty.Value{"os_codename": cty.StringVal("bookworm"), "default_ipv4": cty.StringVal("192.0.2.7")}
}

// example compiles every target of one example. Compiling lints.
func example(t *testing.T, dir string) {
	tree := source.FSTree(os.DirFS(dir))
	targets, ds := compile.Targets(tree)
	if len(ds) > 0 || len(targets) == 0 {
		t.Fatalf("%d targets: %v", len(targets), ds)
	}
	for _, target := range targets {
		in := compile.Input{Tree: tree, Target: target.Name, Facts: bookworm(), Vars: map[string]string{}}
		res, ds := compile.Compile(in)
		if len(ds) > 0 { // also warnings: an example shows how it is done well
			t.Fatalf("%s: %v", target.Name, ds)
		}
		for digest := range res.Blobs {
			if !strings.HasPrefix(digest, "sha256:") {
				t.Errorf("%s: a blob is named %q", target.Name, digest)
			}
		}
		file := filepath.Join(dir, target.Name+".steps")
		if _, err := os.Stat(file); err == nil || len(targets) == 1 &&
			!strings.HasPrefix(dir, "cookbook") { // of many targets, some have their list here
			golden(t, file, res.List)
		}
	}
}

// TestOwnTests runs the tests that examples have beside their modules.
func TestOwnTests(t *testing.T) {
	count := 0
	for _, dir := range repositories(t) {
		r := compile.Open(source.FSTree(os.DirFS(dir)))
		ids, ds := r.Tests()
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		for _, id := range ids {
			count++
			if v := r.RunTest(id); len(v.Failures) > 0 {
				t.Errorf("%s: %s: %v", dir, id, v.Failures)
			}
		}
	}
	if count < 20 {
		t.Errorf("%d tests: the company has more", count)
	}
}

// TestCommands: commands of examples have no mistake, and each part is for some
// targets, which have its action.
func TestCommands(t *testing.T) {
	count := 0
	for _, dir := range repositories(t) {
		r := compile.Open(source.FSTree(os.DirFS(dir)))
		targets, _ := r.Targets()
		all, ds := r.Runnable()
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		for _, c := range all.Commands {
			given := map[string]string{}
			for _, p := range c.Params {
				given[p.Name] = "x"
			}
			parts, ds := r.CallCommand(c.Name, given)
			if len(ds)+len(c.Errors) > 0 {
				t.Fatal(ds, c.Errors)
			}
			for _, p := range parts {
				count++
				sel, err := selection.Parse(p.Targets)
				if err != nil {
					t.Fatal(err)
				}
				chosen, err := sel.Choose(targets, selection.Given{})
				if err != nil {
					t.Fatalf("%s, %s: %v", c.Name, p.Name, err)
				}
				for _, d := range query.Called(all.Actions, p.Action) {
					for _, x := range chosen {
						if !slices.Contains(d.Targets, x.Name) {
							t.Errorf("%s, %s: %s does not have %s", c.Name, p.Name, x.Name, p.Action)
						}
					}
				}
			}
		}
	}
	if count < 6 {
		t.Errorf("%d parts: the company has more", count)
	}
}

// TestCompany holds the company to the size that tests of scale count on.
func TestCompany(t *testing.T) {
	r := compile.Open(source.FSTree(os.DirFS("company")))
	targets, ds := r.Targets()
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	modules, lists, states := map[string]bool{}, 0, 0
	for _, target := range targets {
		for _, m := range target.Modules {
			modules[m] = true
		}
		res, ds := r.Compile(compile.Input{Target: target.Name})
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		states += len(res.States)
		if _, err := os.Stat(filepath.Join("company", target.Name+".steps")); err == nil {
			lists++
		}
	}
	if len(targets) != 40 || len(modules) != 25 || lists != 6 || states/len(targets) < 100 {
		t.Errorf("%d targets of %d states, %d modules, %d lists; want 40 of 100 or more, 25 and 6", len(targets),
			states/len(targets), len(modules), lists)
	}
	t.Logf("%d states in all", states)
}

func golden(t *testing.T, file string, list step.List) {
	var b strings.Builder
	if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", file, b.String(), want)
	}
}

// TestFormat holds every file of an example to the canonical form.
func TestFormat(t *testing.T) {
	err := filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".hcl" {
			return err
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		out, ds := format.Source(src, p)
		if len(ds) > 0 || string(out) != string(src) {
			t.Errorf("%s is not formatted (fettle fmt): %v", p, ds)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
