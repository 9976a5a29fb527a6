package compile_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

var update = flag.Bool("update", false, "rewrite the expectations; review the difference like code")

// goldenCase is one txtar archive: files of a repository, and the sections
//
//	-- input --     target NAME, var NAME=VALUE, fact NAME=VALUE, output ADDRESS=VALUE, link PATH TARGET, exec PATH
//	-- list --      the list with its source map, and
//	-- errors --    every diagnostic with line and trace
type goldenCase struct {
	in      compile.Input
	archive *txtar.Archive
}

func readCase(t *testing.T, file string) goldenCase {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := goldenCase{archive: a, in: compile.Input{Facts: map[string]cty.Value{}, Vars: map[string]string{}}}
	texts := map[string]string{}
	var more []repo.Special
	for _, f := range a.Files {
		switch f.Name {
		case "list", "errors", "input":
		default:
			texts[f.Name] = string(f.Data)
		}
	}
	for _, f := range a.Files {
		for line := range strings.Lines(string(f.Data)) {
			if f.Name == "input" {
				more = append(more, c.input(t, strings.TrimSpace(line), a, texts)...)
			}
		}
	}
	c.in.Tree = repo.MapTree(texts, more...)
	return c
}

func (c *goldenCase) input(t *testing.T, line string, a *txtar.Archive, texts map[string]string) []repo.Special {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	name, value, _ := strings.Cut(rest, "=")
	switch word {
	case "target":
		c.in.Target = rest
	case "var":
		c.in.Vars[name] = value
	case "output":
		if c.in.Outputs == nil {
			c.in.Outputs = map[addr.Addr]string{}
		}
		c.in.Outputs[addr.Addr(name)] = value
	case "fact":
		c.in.Facts[name] = cty.StringVal(value)
	case "link":
		p, to, _ := strings.Cut(rest, " ")
		return []repo.Special{repo.Link(p, to)}
	case "exec":
		for _, f := range a.Files {
			if f.Name == rest {
				delete(texts, rest)
				return []repo.Special{repo.Exec(rest, string(f.Data))}
			}
		}
	case "":
	default:
		t.Fatalf("unknown input %q", line)
	}
	return nil
}

func printed(res compile.Result) string {
	var b strings.Builder
	if err := step.Print(&b, res.List, step.PrintOptions{Source: true}); err != nil {
		return err.Error()
	}
	for _, h := range res.Deferred {
		fmt.Fprintf(&b, "# held: %s writes %q, needs %q\n", h.ID, h.Addr, h.Needs)
		if h.WaitsFor != "" {
			fmt.Fprintf(&b, "#   waits: %s\n", h.WaitsFor)
		}
	}
	for _, o := range res.Exports {
		fmt.Fprintf(&b, "# exports: %s %s %s = %s\n", o.Module, o.As, o.Output, o.Value)
	}
	return b.String()
}

func shown(ds diag.List) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, d)
		if d.Line != "" {
			fmt.Fprintln(&b, "  |", strings.TrimSpace(d.Line))
		}
		for _, r := range d.Trace {
			fmt.Fprintln(&b, "  from", r)
		}
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			c := readCase(t, file)
			res, ds := compile.Compile(c.in)
			got := map[string]string{"list": printed(res), "errors": shown(ds)}
			if *update {
				c.rewrite(t, file, got)
				return
			}
			for _, f := range c.archive.Files {
				if want, ok := got[f.Name]; ok && want != string(f.Data) {
					t.Errorf("%s is\n%s\nwant\n%s", f.Name, want, f.Data)
				}
				delete(got, f.Name)
			}
			for name, text := range got {
				if text != "" {
					t.Errorf("unexpected %s:\n%s", name, text)
				}
			}
		})
	}
}

func (c goldenCase) rewrite(t *testing.T, file string, got map[string]string) {
	t.Helper()
	out := &txtar.Archive{Comment: c.archive.Comment}
	for _, f := range c.archive.Files {
		if _, ok := got[f.Name]; !ok {
			out.Files = append(out.Files, f)
		}
	}
	for _, name := range []string{"list", "errors"} {
		if got[name] != "" {
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}
