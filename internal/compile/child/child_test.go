package child_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// connect starts a child in a goroutine.
func connect(t testing.TB, tree repo.Tree) *child.Client {
	t.Helper()
	toChild, in := io.Pipe()
	out, fromChild := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := child.Serve(toChild, fromChild, nil)
		fromChild.Close()
		done <- err
	}()
	t.Cleanup(func() {
		in.Close()
		if err := <-done; err != nil {
			t.Errorf("the child ends with %v", err)
		}
	})
	c, err := child.Connect(out, in, tree)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask asks a child with the type of the query.
func ask[A any](c *child.Client, q compile.Query[A]) (A, diag.List, error) {
	found, ds, err := c.Answer(q)
	a, _ := found.(A)
	return a, ds, err
}

// corpus is every golden case of the compiler, and the examples.
func corpus(t *testing.T) map[string]compile.Input {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	out := map[string]compile.Input{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".txtar")] = input(a)
	}
	return out
}

func input(a *txtar.Archive) compile.Input {
	in := compile.Input{Facts: map[string]cty.Value{}, Vars: map[string]string{}}
	texts := map[string]string{}
	var lines []string
	for _, f := range a.Files {
		switch f.Name {
		case "list", "errors":
		case "input":
			lines = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		default:
			texts[f.Name] = string(f.Data)
		}
	}
	var more []repo.Special
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, "=")
		switch word {
		case "target":
			in.Target = rest
		case "var":
			in.Vars[name] = value
		case "fact":
			in.Facts[name] = cty.StringVal(value)
		case "link":
			p, to, _ := strings.Cut(rest, " ")
			more = append(more, repo.Link(p, to))
		case "exec":
			more = append(more, repo.Exec(rest, texts[rest]))
			delete(texts, rest)
		}
	}
	in.Tree = repo.MapTree(texts, more...)
	return in
}

// The child's result equals the result of this process, in every byte and every field.
func TestSame(t *testing.T) {
	for name, in := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			want, wantDs := compile.Compile(in)
			c := connect(t, in.Tree)
			for range 2 { // a child answers repeatedly
				got, ds, err := ask(c, compile.ListQuery{Input: in})
				if err != nil {
					t.Fatal(err)
				}
				same(t, "diagnostics", ds, wantDs)
				same(t, "list", got.List.String(), want.List.String())
				same(t, "contents", contents(t, got.Blobs), contents(t, want.Blobs))
				got.Blobs = nil
				plain := want
				plain.Blobs = nil
				same(t, "result", got, plain)
			}
		})
	}
}

// same compares as printed with all field names: no list and an empty one are
// the same.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+q", got), fmt.Sprintf("%+q", want); g != w {
		t.Errorf("%s: %.2000s\nwant %.2000s", what, g, w)
	}
}

func contents(t *testing.T, blobs map[string]kind.Blob) map[string]string {
	t.Helper()
	out := map[string]string{}
	for d, b := range blobs {
		data := b.Data
		if b.Tree != nil {
			var err error
			if data, err = b.Tree.ReadFile(b.Path); err != nil {
				t.Fatal(err)
			}
		}
		out[d] = string(data)
	}
	return out
}

// Facts of every type arrive as they were.
func TestFacts(t *testing.T) {
	facts := map[string]cty.Value{
		"os.name": cty.StringVal("debian"), "memory_bytes": cty.NumberIntVal(1 << 62), "x.null": cty.NullVal(cty.String),
		"net.addresses": cty.ListVal([]cty.Value{cty.StringVal("192.0.2.1")}), "x.map": cty.MapValEmpty(cty.Bool),
		"x.object": cty.ObjectVal(map[string]cty.Value{"a": cty.NumberFloatVal(0.1), "b": cty.EmptyTupleVal}),
	}
	in := compile.Input{Facts: facts, Tree: repo.MapTree(map[string]string{"fettle.hcl": `
target "a" {}
fact "memory_bytes" { type = number }
file "/tmp/x" { content = "${fact.memory_bytes}" }
`})}
	want, wantDs := compile.Compile(in)
	got, ds, err := ask(connect(t, in.Tree), compile.ListQuery{Input: in})
	if err != nil || got.List.String() != want.List.String() {
		t.Fatalf("%v\n%s\nwant\n%s%v", err, got.List, want.List, ds)
	}
	same(t, "diagnostics", ds, wantDs)
}

// The result is the same for a tree that is larger than the holder's unrequested messages.
func TestLarge(t *testing.T) {
	texts := map[string]string{"fettle.hcl": `target "a" { modules = ["m"] }`}
	module := "directory \"/srv/x\" { source = \"files\" }\n"
	for i := range 40 {
		name := strings.Repeat("t", i+1)
		texts["m/templates/"+name] = strings.Repeat(name, 60<<10/(i+1))
		module += `file "/srv/` + name + `" { content = file("templates/` + name + `") }` + "\n"
		texts["m/files/"+name] = "x" + name
	}
	texts["m/module.hcl"] = module
	in := compile.Input{Tree: repo.MapTree(texts)}
	want, wantDs := compile.Compile(in)
	got, ds, err := ask(connect(t, in.Tree), compile.ListQuery{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "diagnostics", ds, wantDs)
	same(t, "contents", contents(t, got.Blobs), contents(t, want.Blobs))
}

// The child reports each place before it is evaluated.
func TestAt(t *testing.T) {
	var in, out bytes.Buffer
	tree := repo.MapTree(
		map[string]string{"fettle.hcl": "target \"a\" {}\nlocals { x = upper(\"a\") }\nfile \"/x\" { content = local.x }\n"})
	if _, err := child.Connect(nil, &in, tree); err != nil {
		t.Fatal(err)
	}
	c := child.Question(t, compile.Input{})
	in.Write(c)
	var places []string
	if err := child.Serve(&in, &out, func(r diag.Range) { places = append(places, r.String()) }); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(places, " "); !strings.Contains(text, "fettle.hcl fettle.hcl:2:14") {
		t.Errorf("the places are %s", text)
	}
}

// A message that no correct peer sends is ErrNonsense.
func TestNonsense(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "target \"a\" {}"})
	for name, said := range map[string]string{
		"huge": "E\xff\xff\xff\xff", "kind": "X\x00\x00\x00\x00", "cut number": "E\x00\x00\x00\x01\xff",
		"long text": "E\x00\x00\x00\x02\x01\x00", "too much": "E\x00\x00\x00\x03\x00\x00\x00",
		"op":   "R\x00\x00\x00\x02\x63\x00",
		"list": "E\x00\x00\x00\x07\x00\x01a\x04HELP",
	} {
		c, err := child.Connect(strings.NewReader(said), io.Discard, tree)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ask(c, compile.ListQuery{}); !errors.Is(err, child.ErrNonsense) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	c, _ := child.Connect(strings.NewReader("E\x00\x00"), io.Discard, tree)
	if _, _, err := ask(c, compile.ListQuery{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut message gives %v", err)
	}
}

var _ source.Watched = child.Watched()
