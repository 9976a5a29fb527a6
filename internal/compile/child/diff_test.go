package child_test

import (
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// twoRevisions returns a repository and its next revision: a module of three targets changed, one
// target was removed, one was added, and a secret changed.
func twoRevisions() (before, now repo.Tree) {
	files := map[string]string{
		"fettle.hcl":       "target \"a\" {\n  modules = [\"m\", \"n\"]\n}\ntarget \"b\" {\n  modules = [\"m\", \"n\"]\n}\ntarget \"c\" {\n  modules = [\"n\"]\n}\n",
		"modules/m/a.hcl":  "file \"/srv/x\" { content = \"${target.name} one\" }\nfile \"/srv/long\" { source = \"long\" }\n",
		"modules/m/long":   strings.Repeat("long\n", 10_000),
		"modules/n/a.hcl":  "file \"/srv/y\" { content = \"${target.name} ${file(\"y\")}\" }\nfile \"/srv/z\" { content = secret(\"z\") }\n",
		"modules/n/y":      "y",
		"secrets/z.age":    "sealed",
		"secrets/unneeded": "u",
	}
	before = repo.MapTree(files)
	next := map[string]string{}
	for name, text := range files {
		next[name] = strings.ReplaceAll(strings.ReplaceAll(text, "one", "two"), "sealed", "sealed again")
	}
	next["fettle.hcl"] = strings.ReplaceAll(next["fettle.hcl"], "\"c\"", "\"d\"")
	next["modules/m/long"] += "end\n"
	return before, repo.MapTree(next)
}

// Differences come from the child as lists differ that are compiled here.
func TestDiff(t *testing.T) {
	before, now := twoRevisions()
	c := connect(t, now)
	for range 2 {
		if err := c.Before(before, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"a b d", "a b c"} {
		names, ds, err := c.Names(i == 1)
		if err != nil || len(ds) > 0 || strings.Join(names, " ") != want {
			t.Errorf("%v %v %v, want %s", names, ds, err, want)
		}
	}
	asked := []compile.Compared{{Target: "b", Has: [2]bool{true, true}}, {Target: "a", Has: [2]bool{true, true}},
		{Target: "c", Has: [2]bool{true, false}}, {Target: "d", Has: [2]bool{false, true}}, {Target: "nobody"}}
	got, ds, err := c.Diff(compile.Input{}, asked)
	if err != nil || len(ds) > 0 || len(got) != len(asked) {
		t.Fatalf("%v %v %v", got, ds, err)
	}
	for i, target := range asked {
		var lists [2]step.List
		for side, tree := range []repo.Tree{before, now} {
			if target.Has[side] {
				res, _ := compile.Compile(compile.Input{Tree: tree, Target: target.Target})
				lists[side] = res.List
			}
		}
		want := step.FormatDiff(step.Diff(lists[0], lists[1]))
		if text := step.FormatDiff(got[i].Changes); got[i].Target != target.Target || text != want {
			t.Errorf("%s differs by\n%s\nand has to by\n%s", target.Target, text, want)
		}
	}
}

// If a target has an error, the diagnostics replace all differences.
func TestDiffWrong(t *testing.T) {
	before, _ := twoRevisions()
	c := connect(t, repo.MapTree(map[string]string{"fettle.hcl": "target \"a\" {}\nfile \"/x\" { contents = \"x\" }\n"}))
	if err := c.Before(before, nil); err != nil {
		t.Fatal(err)
	}
	got, ds, err := c.Diff(compile.Input{}, []compile.Compared{{Target: "a", Has: [2]bool{true, true}}})
	if err != nil || !ds.HasErrors() || got != nil {
		t.Fatalf("%v %v %v", got, ds, err)
	}
}

// A child that asks for a revision that it was not told of makes no sense.
func TestDiffUntold(t *testing.T) {
	c, err := child.Connect(strings.NewReader("P\x00\x00\x00\x0c\x00\x0afettle.hcl"), io.Discard, repo.MapTree(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Diff(compile.Input{}, nil); err == nil || !strings.Contains(err.Error(), "unknown revision") {
		t.Error(err)
	}
}
