package content_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// TestCompileComposed: the list of every target of every example is byte for byte the same from the
// root bundle and the target's modules as from the whole repository, and so is its content.
func TestCompileComposed(t *testing.T) {
	mains, _ := filepath.Glob("../../../examples/*/fettle.hcl")
	demos, _ := filepath.Glob("../../../examples/demo/*/fettle.hcl")
	count := 0
	for _, main := range append(mains, demos...) {
		whole := source.FSTree(os.DirFS(filepath.Dir(main)))
		bundles := map[string]repo.Tree{}
		parts, err := content.Parts(whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			b, _ := pack(t, whole, part)
			bundles[part] = parse(t, b).Tree()
		}
		targets, ds := compile.Targets(whole)
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		all, composed := compile.Open(whole), map[string]*compile.Repository{} // by the modules of targets
		for _, target := range targets {
			modules := map[string]repo.Tree{}
			for _, dir := range target.Modules {
				if part := content.PartOf(dir); part != content.RootBundle {
					modules[part] = bundles[part]
				}
			}
			key := fmt.Sprint(slices.Sorted(maps.Keys(modules)))
			if composed[key] == nil {
				tree, err := content.Compose(bundles[content.RootBundle], modules, nil)
				if err != nil {
					t.Fatal(err)
				}
				composed[key] = compile.Open(tree)
			}
			if want, got := listOf(t, all, target.Name), listOf(t, composed[key], target.Name); want != got {
				t.Errorf("%s of %s is\n%s\nwant\n%s", target.Name, main, got, want)
			}
			count++
		}
	}
	if count < 40 {
		t.Errorf("%d targets: the examples have more", count)
	}
}

// listOf returns the list of a target with its source map, and all content that it names.
func listOf(t testing.TB, r *compile.Repository, target string) string {
	t.Helper()
	res, ds := r.Compile(compile.Input{Target: target, Facts: map[string]cty.Value{}, Vars: map[string]string{}})
	if ds.HasErrors() {
		t.Fatalf("%s: %v", target, ds)
	}
	var b strings.Builder
	if err := step.Print(&b, res.List, step.PrintOptions{Source: true}); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for digest, blob := range res.Blobs {
		if blob.Tree != nil {
			if _, err := blob.Tree.ReadFile(blob.Path); err != nil {
				t.Error(err)
			}
		}
		digests = append(digests, digest)
	}
	slices.Sort(digests)
	return b.String() + strings.Join(digests, "\n")
}

// TestComposeIsStable: the digest of a tree of all parts is the digest of the commit, in any order.
// The tree has the enrolled targets.
func TestComposeIsStable(t *testing.T) {
	whole := source.FSTree(os.DirFS("../../../examples/company"))
	parts, err := content.Parts(whole)
	if err != nil || len(parts) < 20 {
		t.Fatal(parts, err)
	}
	modules := map[string]repo.Tree{}
	var top repo.Tree
	for _, part := range parts {
		b, info := pack(t, whole, part)
		again, infoAgain := pack(t, whole, part)
		if !bytes.Equal(b, again) || info != infoAgain {
			t.Fatalf("%q packs in two ways", part)
		}
		if modules[part] = parse(t, b).Tree(); part == content.RootBundle {
			top = modules[part]
			delete(modules, part)
		}
	}
	digest := func(enrolled map[string]map[string]string) string {
		tree, err := content.Compose(top, modules, fleet.EnrolledWith(enrolled))
		if err != nil {
			t.Fatal(err)
		}
		d, err := repo.TreeDigest(tree)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want, err := repo.TreeDigest(whole)
	if err != nil || digest(nil) != want {
		t.Errorf("composed it is %s, whole %s: %v", digest(nil), want, err)
	}
	one := digest(map[string]map[string]string{"a": {"x": "1", "y": "2"}, "b": nil})
	if one == want || one != digest(map[string]map[string]string{"b": {}, "a": {"y": "2", "x": "1"}}) {
		t.Error("what is enrolled does not count, or not always the same")
	}
}

func TestComposeRefuses(t *testing.T) {
	file := func(p string) repo.Tree { return repo.MapTree(map[string]string{p: "x"}) }
	for want, c := range map[string]struct {
		top      repo.Tree
		modules  map[string]repo.Tree
		enrolled map[string]map[string]string
	}{
		"belongs to a module":              {top: file("modules/web/x")},
		`contains "modules"`:               {top: file("modules")},
		"is not the directory of a module": {top: file("a"), modules: map[string]repo.Tree{"data": file("x")}},
		`"modules/../a" is not`: {top: file("a"),
			modules: map[string]repo.Tree{"modules/../a": file("x")}},
		`"modules/a/b" is not`: {top: file("a"),
			modules: map[string]repo.Tree{"modules/a/b": file("x")}},
		"the directory of git": {top: file("a"),
			modules: map[string]repo.Tree{"modules/.git": file("x")}},
		"differ only in case": {top: file("Modules/x"),
			modules: map[string]repo.Tree{"modules/web": file("x")}},
		`cannot use "../x" as the name of a target`: {top: file("a"), enrolled: map[string]map[string]string{"../x": nil}},
		"cannot use the label": {top: file("a"),
			enrolled: map[string]map[string]string{"x": {"a b": ""}}},
	} {
		_, err := content.Compose(c.top, c.modules, fleet.EnrolledWith(c.enrolled))
		wantErr(t, err, want)
	}
	// A file of the reserved name in a repository is ignored.
	tree, err := content.Compose(file("enrolled.fettle.json"), nil, fleet.EnrolledTargets{"a": {}})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := tree.ReadFile("enrolled.fettle.json"); !strings.Contains(string(text), "enrolled") {
		t.Errorf("%q", text)
	}
}

// TestCompileEnrolled: a target that is only enrolled gets the modules that its labels select, from
// the root bundle and its own modules. References of the root bundle to modules of other targets
// are not an error.
func TestCompileEnrolled(t *testing.T) {
	whole := repo.MapTree(map[string]string{
		"fettle.hcl": `
vars = { domain = "example.org", size = 5 }
target_group "web" {
  labels  = { role = "web" }
  modules = ["web"]
}
target_group "db" {
  labels  = { role = "db" }
  modules = ["db"]
}
`,
		"modules/web/module.hcl": "variable \"domain\" { type = string }\nfile \"/etc/web\" { content = var.domain }\n",
		"modules/db/module.hcl":  "variable \"size\" { type = number }\nfile \"/etc/db\" { content = \"${var.size}\" }\n",
	})
	bundle := func(part string) repo.Tree { b, _ := pack(t, whole, part); return parse(t, b).Tree() }
	all := map[string]map[string]string{"web1": {"role": "web"}, "db1": {"role": "db"}}
	hub, err := content.Compose(bundle(content.RootBundle),
		map[string]repo.Tree{"modules/web": bundle("modules/web"), "modules/db": bundle("modules/db")},
		fleet.EnrolledWith(all))
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range all {
		part := "modules/" + labels["role"]
		agent, err := content.Compose(bundle(content.RootBundle), map[string]repo.Tree{part: bundle(part)},
			fleet.EnrolledTargets{name: {Labels: labels}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := listOf(t, compile.Open(agent), name), listOf(t, compile.Open(hub), name); got != want ||
			!strings.Contains(got, "/etc/"+labels["role"]) {
			t.Errorf("%s is\n%s\non the hub\n%s", name, got, want)
		}
	}
}

// TestCompileManyTargets: a fleet can be larger than the size limit of one file of the language.
func TestCompileManyTargets(t *testing.T) {
	enrolled := map[string]map[string]string{}
	for i := range 20_000 {
		enrolled[fmt.Sprintf("web%05d", i)] = map[string]string{"env": "prod", "role": "web"}
	}
	top := repo.MapTree(map[string]string{
		"fettle.hcl":              "target_group \"web\" { labels = { role = \"web\" } }\n",
		"enrolled002.fettle.json": `{"enrolled": {"mine": {"labels": {}}}}`,
	})
	tree, err := content.Compose(top, nil, fleet.EnrolledWith(enrolled))
	if err != nil {
		t.Fatal(err)
	}
	targets, ds := compile.Targets(tree)
	if len(ds) > 0 {
		t.Fatal(ds[0])
	}
	if len(targets) != len(enrolled) || targets[0].Name != "web00000" || targets[19_999].Name != "web19999" {
		t.Errorf("there are %d targets", len(targets))
	}
	few := fleet.EnrolledTargets{"a": {}, "b": {}}
	if files := fleet.EnrolledFiles(few); len(files) != 1 || files[fleet.EnrolledFile] != string(fleet.Enrolled(few)) {
		t.Errorf("a small fleet has the files %v", slices.Sorted(maps.Keys(files)))
	}
	for path, is := range map[string]bool{fleet.EnrolledFile: true, "enrolled007.fettle.json": true,
		"enrolled7.fettle.json": false, "a/enrolled007.fettle.json": false, "enrolled007.fettle.json.x": false,
		"enrolledabc.fettle.json": false} {
		if fleet.IsEnrolledFile(path) != is {
			t.Errorf("%s is one of them: %v", path, !is)
		}
	}
}
