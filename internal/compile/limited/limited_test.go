package limited_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

// The test binary is its own compiler, and also several broken compilers.
func TestMain(m *testing.M) {
	word := ""
	if len(os.Args) == 4 {
		word = os.Args[1]
	}
	switch word {
	case "compile":
		if err := limited.Child(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "nonsense":
		fmt.Print("Hello, I am no compiler")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the peer closes the connection
		os.Exit(0)
	case "silent":
		os.Exit(3)
	case "panic":
		fmt.Print([]int{}[len(os.Args)])
	case "tells":
		_ = limited.Child(os.Args[2:], &teller{os.Stdin}, os.Stdout)
	case "hang":
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// teller breaks with a secret as its last words.
type teller struct{ in io.Reader }

func (r *teller) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if strings.Contains(string(b[:n]), hush) {
		fmt.Fprintln(os.Stderr, "what is this "+hush)
		os.Exit(2)
	}
	return n, err
}

const hush = "hush-hush-5f1b9c77"

// opener has one secret, of every name.
type opener struct{ key secret.Key }

func (opener) Secret(string) ([]byte, error)      { return []byte(hush), nil }
func (o opener) Key() (secret.Key, []byte, error) { return o.key, nil, nil }

// TestLastWords: a child that knew a secret and broke says nothing of it.
func TestLastWords(t *testing.T) {
	c := compiler(t, t.Context(), "tells")
	c.Secrets(func(repo.Tree) child.Vault { return opener{secret.NewKey()} })
	_, ds := compile.Ask(c,
		compile.ListQuery{Input: compile.Input{Tree: tree("file \"/x\" { content = secret(\"x\") }\n")}})
	died(t, ds, "Compiler crashed", "fettle.hcl:2:23")
	if text := fmt.Sprint(ds); strings.Contains(text, "hush") || !strings.Contains(text, "not shown") {
		t.Error(text)
	}
}

func compiler(t *testing.T, ctx context.Context, word string) *limited.Compiler {
	c := limited.New(ctx, word)
	t.Cleanup(c.Close)
	return c
}

func tree(text string) repo.Tree {
	return repo.MapTree(map[string]string{"fettle.hcl": "target \"a\" {}\n" + text})
}

// doubling is a bomb: 2^n times its seed.
func doubling(n int, f func(prev string) string) string {
	text := "locals {\n  a0 = [\"x\"]\n"
	for i := range n {
		text += fmt.Sprintf("  a%d = %s\n", i+1, f(fmt.Sprintf("local.a%d", i)))
	}
	return text + fmt.Sprintf("}\nfile \"/x\" { content = jsonencode(local.a%d) }\n", n)
}

func TestCompile(t *testing.T) {
	c := compiler(t, t.Context(), "compile")
	c.Limit(0, 0)
	c.Prepare()
	for _, text := range []string{"file \"/x\" { content = \"x\" }\n", "file \"/y\" { content = upper(\"y\") }\n",
		"file \"/z\" {}"} {
		in := compile.Input{Tree: tree(text)}
		want, wantDs := compile.Compile(in)
		for range 2 {
			got, ds := compile.Ask(c, compile.ListQuery{Input: in})
			if got.List.String() != want.List.String() || fmt.Sprint(ds) != fmt.Sprint(wantDs) {
				t.Errorf("%s gives %v %v, want %v %v", text, got.List, ds, want.List, wantDs)
			}
		}
		if list, ds := c.Targets(in.Tree); len(ds) > 0 || len(list) != 1 || list[0].Name != "a" {
			t.Errorf("targets %v %v", list, ds)
		}
	}
}

// died demands one diagnostic with this summary at this place.
func died(t *testing.T, ds diag.List, summary, place string) {
	t.Helper()
	if len(ds) != 1 || ds[0].Summary != summary || ds[0].Range.String() != place {
		t.Fatalf("%v\nwant %q at %q", ds, summary, place)
	}
	if place != "" && ds[0].Range.Start.Line > 0 && ds[0].Line == "" {
		t.Errorf("%v has no source line", ds)
	}
}

func TestTooLong(t *testing.T) {
	c := compiler(t, t.Context(), "compile")
	c.Limit(300*time.Millisecond, 0)
	text := doubling(40, func(p string) string { return "[" + p + ", " + p + "]" })
	_, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree(text)}})
	if len(ds) != 1 || ds[0].Summary != "Compiling took too long" || ds[0].Range.File != "fettle.hcl" ||
		!strings.Contains(ds[0].Line, "local.a") {
		t.Fatal(ds)
	}
	c.Limit(0, 0)
	c.Prepare()
	if _, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree("")}}); ds.HasErrors() {
		t.Errorf("after a child that died: %v", ds)
	}
}

func TestTooMuchMemory(t *testing.T) {
	c := compiler(t, t.Context(), "compile")
	c.Limit(0, 256<<20)
	text := doubling(40, func(p string) string { return "concat(" + p + ", " + p + ")" })
	_, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree(text)}})
	if len(ds) != 1 || ds[0].Summary != "Compiling took too much memory" || !strings.Contains(ds[0].Line, "concat(") {
		t.Fatal(ds)
	}
}

// A child that breaks, talks nonsense or hangs is a diagnostic, never a hang.
func TestMad(t *testing.T) {
	for word, summary := range map[string]string{"nonsense": "Invalid answer of the compiler",
		"silent": "Compiler crashed", "panic": "Compiler crashed", "hang": "Compiling took too long"} {
		c := compiler(t, t.Context(), word)
		c.Limit(400*time.Millisecond, 0)
		_, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree("")}})
		if word != "hang" && len(ds) == 1 && ds[0].Summary == "Compiling took too long" {
			t.Logf("%s: the machine is too busy to tell", word)
			continue
		}
		died(t, ds, summary, "")
		if word == "panic" && !strings.Contains(ds[0].Detail, "index out of range") {
			t.Error(ds)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := compiler(t, ctx, "hang")
	c.Limit(0, 0)
	c.Prepare()
	cancel(errors.New("a signal"))
	_, ds := compile.Ask(c, compile.ListQuery{Input: compile.Input{Tree: tree("")}})
	died(t, ds, "Compiling was interrupted", "")
}

// Differences are in the order of targets, independent of the compiler, and stop when the caller
// stops.
func TestDiff(t *testing.T) {
	p := limited.NewPool(t.Context(), "compile", 2)
	t.Cleanup(p.Close)
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "target \"t%03d\" {}\n", i)
	}
	before := repo.MapTree(map[string]string{"fettle.hcl": text.String() +
		"file \"/x\" { content = \"${target.name} one\" }\n"})
	now := repo.MapTree(map[string]string{"fettle.hcl": text.String() +
		"file \"/x\" { content = \"${target.name} two\" }\n"})
	names, ds := p.Names(before, now)
	if len(names[0]) != 200 || len(names[1]) != 200 || len(ds[0])+len(ds[1]) > 0 {
		t.Fatal(names, ds)
	}
	var asked []compile.Compared
	for _, n := range names[0] {
		asked = append(asked, compile.Compared{Target: n, Has: [2]bool{true, true}})
	}
	at := 0
	for found, ds := range p.Diff(before, compile.Input{Tree: now}, asked) {
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		for _, d := range found {
			if d.Target != asked[at].Target || len(d.Changes) != 1 {
				t.Fatalf("%+v at %d", d, at)
			}
			at++
		}
	}
	if at != len(asked) {
		t.Errorf("%d of %d", at, len(asked))
	}
	for found := range p.Diff(before, compile.Input{Tree: now}, asked) {
		if len(found) == 0 || found[0].Target != "t000" {
			t.Error(found)
		}
		break
	}
}
