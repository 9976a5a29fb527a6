package compile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// FuzzCompile: a list that compiles parses back to itself, is the same each time, and each digest
// in it has its blob.
func FuzzCompile(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			if filepath.Ext(x.Name) == ".hcl" {
				f.Add(x.Data)
			}
		}
	}
	f.Add([]byte(actionModule))
	f.Add([]byte(secretAction + rolling))
	f.Add([]byte("target \"a\" {}\ncluster \"c\" {\n  targets = [\"*\"]\n  check \"d\" { tcp = \"a:1\" }\n" +
		"  task \"e\" {\n    command  = [\"b\"]\n    after    = [check.d]\n    triggers = [1, { x = true }]\n  }\n}\n"))
	f.Add([]byte("environment \"a\" { domain = \"a.org\" }\nenvironment \"b\" {\n  for_each = { x = 1 }\n" +
		"  parent = \"a\"\n  labels = { e = each.key }\n  vars = { v = each.value }\n" +
		"  check \"c\" { http = \"http://${environment.domain}/\" }\n}\nvariable \"v\" {}\n" +
		"target \"t\" { labels = { e = \"x\" } }\nfile \"/${environment.name}\" { content = \"${var.v}\" }\n"))
	f.Add([]byte("enrolled \"t\" {\n  environment = { name = \"b\", parent = \"a\", vars = { v = \"1\" } }\n}\n" +
		"environment \"a\" { targets = [\"*\"] }\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		in := compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": string(src), "t/a.tmpl": "${x}",
			"files/a": "b"})}
		runs(t, in)
		res, ds := compile.Compile(in)
		if ds.HasErrors() {
			return
		}
		text := res.List.String()
		back, ds := step.Parse("x.steps", []byte(text))
		if ds.HasErrors() || back.String() != text {
			t.Fatalf("the list does not read back: %v\n%s", ds, text)
		}
		for _, s := range res.List {
			if _, ok := res.Blobs[s.Blob()]; s.Blob() != "" && !ok {
				t.Fatalf("no blob for %s", s)
			}
		}
		if again, _ := compile.Compile(in); again.List.String() != text {
			t.Fatalf("compiled again it is\n%s\nnot\n%s", again.List, text)
		}
	})
}

// runs asks for everything that the repository can be asked to do, with nothing given
// and with the same text for each parameter.
func runs(t *testing.T, in compile.Input) {
	r := compile.Open(in.Tree)
	all, _ := r.Runnable()
	strategies, _ := r.Strategies()
	for _, s := range strategies {
		if err := s.Valid(); err != nil {
			t.Fatalf("the rollout %q %v", s.Name, err)
		}
	}
	const typed = "7731"
	scopes, ds := r.Scopes()
	if err := scopes.Valid(); err != nil {
		t.Fatalf("the scopes of %v: %v", ds, err)
	}
	given := func(params []query.Param) map[string]string {
		out := map[string]string{}
		for _, p := range params {
			out[p.Name] = typed
		}
		return out
	}
	for _, c := range all.Commands {
		_, _ = r.CallCommand(c.Name, nil)
		_, _ = r.CallCommand(c.Name, given(c.Params))
	}
	for _, a := range all.Actions {
		_, _ = r.CallAction(in, a.ID(), nil, true)
		secret := len(a.Params) > 0
		for _, p := range a.Params {
			secret = secret && p.Secret
		}
		call, ds := r.CallAction(in, a.ID(), given(a.Params), false)
		if text := call.Result.List.String() + fmt.Sprint(ds); secret && strings.Contains(text, typed) &&
			!strings.Contains(string(mustRead(in)), typed) {
			t.Fatalf("what was typed as a secret shows: %s", text)
		}
	}
}

func mustRead(in compile.Input) []byte {
	text, _ := in.Tree.ReadFile("fettle.hcl")
	return text
}
