package compile_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// The list depends on its input alone: not on map order, time zone, or the directory that the
// process is in.
func TestPure(t *testing.T) {
	for _, name := range []string{"nginx", "define", "variables", "automatic", "modules", "unknown_attribute"} {
		c := readCase(t, "testdata/"+name+".txtar")
		res, ds := compile.Compile(c.in)
		want := printed(res) + shown(ds)
		t.Run(name, func(t *testing.T) {
			t.Setenv("TZ", "Pacific/Kiritimati")
			t.Setenv("LANG", "tr_TR.UTF-8")
			t.Chdir(t.TempDir())
			for range 20 {
				res, ds := compile.Compile(compile.Input{Tree: c.in.Tree, Target: c.in.Target, Facts: shuffled(c.in.Facts),
					Vars: shuffled(c.in.Vars)})
				if got := printed(res) + shown(ds); got != want {
					t.Fatalf("first\n%s\nthen\n%s", want, got)
				}
			}
		})
	}
}

// shuffled copies a map, so that its iteration order differs.
func shuffled[V any](m map[string]V) map[string]V {
	out := map[string]V{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// notify and listen are one edge, written from either side.
func TestNotifyIsListen(t *testing.T) {
	a, ds := compile.Compile(readCase(t, "testdata/notify.txtar").in)
	b, more := compile.Compile(readCase(t, "testdata/listen.txtar").in)
	if ds.HasErrors() || more.HasErrors() || len(a.List) == 0 || a.List.String() != b.List.String() {
		t.Fatalf("notify gives\n%s%s\nlisten gives\n%s%s", a.List, shown(ds), b.List, shown(more))
	}
}

// A module moved to other files, in another order, is the same but for the
// source map, as long as no order hangs on it.
func TestFilesInAnotherOrder(t *testing.T) {
	one := repo.MapTree(map[string]string{"a.hcl": "file \"/etc/x\" { content = \"1\" }\n",
		"b.hcl": "directory \"/etc/d\" {}\nfile \"/etc/d/y\" { content = \"2\" }\n"})
	two := repo.MapTree(map[string]string{"z.hcl": "file \"/etc/d/y\" { content = \"2\" }\ndirectory \"/etc/d\" {}\n",
		"c.hcl": "file \"/etc/x\" { content = \"1\" }\n"})
	a, _ := compile.Compile(compile.Input{Tree: one})
	b, _ := compile.Compile(compile.Input{Tree: two})
	if len(a.List) != 3 || a.List.Digest() != b.List.Digest() {
		t.Fatalf("%s\nis not\n%s", a.List, b.List)
	}
}

// Every blob that the list names is there, and holds what its digest says.
func TestBlobsAndStates(t *testing.T) {
	res, ds := compile.Compile(readCase(t, "testdata/nginx.txtar").in)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	steps := 0
	for i, s := range res.List {
		if d := s.Blob(); d != "" {
			b, ok := res.Blobs[d]
			if !ok {
				t.Errorf("step %d: no blob %s", i, d)
			} else if b.Tree != nil {
				if got, size, err := b.Tree.Digest(b.Path); err != nil || got != d || size != b.Size {
					t.Errorf("step %d: %s is %s, %v", i, d, got, err)
				}
			}
		}
	}
	for _, st := range res.States {
		steps += len(st.Steps)
		for _, i := range st.Steps {
			if want := st.Range.File; !strings.HasPrefix(res.List[i].Source, want+":") {
				t.Errorf("%s: step %d is from %s", st.ID, i, res.List[i].Source)
			}
		}
	}
	if steps != len(res.List) {
		t.Errorf("%d steps belong to states, of %d", steps, len(res.List))
	}
}

func TestExplain(t *testing.T) {
	c := readCase(t, "testdata/variables.txtar")
	ex, ds := compile.Explain(c.in, "e")
	if ds.HasErrors() || len(ex) != 2 {
		t.Fatal(ex, ds)
	}
	var layers []string
	for _, l := range ex[0].Layers {
		layers = append(layers, l.Name+"="+l.Value+" "+l.Range.String())
	}
	want := `default="default" modules/m/module.hcl:5:26, repository="repository" fettle.hcl:5:3, target="target" fettle.hcl:11:5, ` +
		`module block="one" fettle.hcl:15:27, command line="command" command line`
	if got := strings.Join(layers, ", "); got != want || ex[0].Value != `"command"` || ex[0].Module != "module one" {
		t.Errorf("%+v\ngot  %s\nwant %s", ex[0], got, want)
	}
	if _, ds := compile.Explain(c.in, "lable"); !ds.HasErrors() || !strings.Contains(ds[0].Detail, `"label"`) {
		t.Error(ds)
	}
}

func TestTargets(t *testing.T) {
	ts, ds := compile.Targets(
		repo.MapTree(map[string]string{"fettle.hcl": "target \"b\" { labels = { role = upper(\"x\") } }\ntarget \"a\" {}\n"}))
	if ds.HasErrors() || len(ts) != 2 || ts[0].Name != "b" || ts[0].Labels["role"] != "X" {
		t.Fatal(ts, ds)
	}
	ts, _ = compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": "file \"/etc/a\" { content = \"\" }\n"}))
	if len(ts) != 1 || ts[0].Name != query.LocalTarget {
		t.Fatal(ts)
	}
}

// Facts may come flat, or as objects.
func TestFacts(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": `fact "mac_addresses" { type = object({ eth0 = string }) }
fact "mac_addresses.eth0" { type = string }
file "/etc/a" { content = fact.mac_addresses.eth0 }
`})
	mac := cty.StringVal("02:00:00:00:00:01")
	a, ds := compile.Compile(compile.Input{Tree: tree, Facts: map[string]cty.Value{"mac_addresses.eth0": mac}})
	of := cty.ObjectVal(map[string]cty.Value{"eth0": mac, "eth1": mac})
	b, more := compile.Compile(compile.Input{Tree: tree, Facts: map[string]cty.Value{"mac_addresses": of}})
	if ds.HasErrors() || more.HasErrors() || a.List.Digest() != b.List.Digest() || len(a.FactsUsed) != 2 {
		t.Fatal(ds, more, a.FactsUsed)
	}
}
