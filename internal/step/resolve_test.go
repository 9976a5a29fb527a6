package step_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestResolve runs testdata/resolve.txtar: in a directory NAME, top.steps is resolved; want holds
// the steps as they were written, then the messages.
func TestResolve(t *testing.T) {
	a, err := txtar.ParseFile("testdata/resolve.txtar")
	if err != nil {
		t.Fatal(err)
	}
	directories := map[string]fstest.MapFS{}
	var names []string
	for _, f := range a.Files {
		name, rest, _ := strings.Cut(f.Name, "/")
		if directories[name] == nil {
			directories[name] = fstest.MapFS{}
			names = append(names, name)
		}
		directories[name][rest] = &fstest.MapFile{Data: f.Data}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			got := resolveDirectory(t, name, directories[name])
			for i, f := range a.Files {
				if f.Name == name+"/want" && *update {
					a.Files[i].Data = []byte(got)
				}
			}
		})
	}
	if *update {
		if err := os.WriteFile("testdata/resolve.txtar", txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func resolveDirectory(t *testing.T, name string, files fstest.MapFS) string {
	list := mustParse(t, name+"/top.steps", string(files["top.steps"].Data))
	list, diags := step.Resolve(list, step.Directory{FS: files})
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Text() + "\n")
		if s.Verb == step.Copy && !step.IsDigest(s.Args[0]) && len(diags) == 0 {
			t.Errorf("%s was not resolved", s)
		}
	}
	for _, d := range diags {
		fmt.Fprintf(&b, "%s\n\t%s\n", d, d.Line)
		for _, r := range d.Trace {
			fmt.Fprintf(&b, "\tincluded at %s\n", r)
		}
	}
	if got, want := b.String(), string(files["want"].Data); got != want && !*update {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	again, diags2 := step.Resolve(list, step.Directory{FS: fstest.MapFS{}})
	if len(diags) == 0 && (len(diags2) > 0 || again.String() != list.String()) {
		t.Errorf("a resolved list changed: %v", diags2)
	}
	return b.String()
}

func TestResolveEditedFile(t *testing.T) {
	src := "COPY file1 /tmp/file1\n"
	resolved := func(content string) step.List {
		list, diags := step.Resolve(mustParse(t, "x", src),
			step.Directory{FS: fstest.MapFS{"file1": {Data: []byte(content)}}})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		return list
	}
	one, two := resolved("one"), resolved("two")
	if got, want := step.FormatDiff(step.Diff(one, two)), "-COPY file1 /tmp/file1\n+COPY file1 /tmp/file1\n"; got != want {
		t.Errorf("got %q", got)
	}
	if d := step.Diff(one, resolved("one")); len(d) > 0 {
		t.Errorf("the same content differs: %s", step.FormatDiff(d))
	}
}

// TestResolveBounds includes without end in the two ways that are not cycles.
func TestResolveBounds(t *testing.T) {
	deep, wide := fstest.MapFS{}, fstest.MapFS{}
	for i := range 40 {
		deep[fmt.Sprintf("%d", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "INCLUDE %d\n", i+1)}
	}
	for i := range 14 {
		wide[fmt.Sprintf("%d", i)] = &fstest.MapFile{Data: []byte(strings.Repeat(fmt.Sprintf("INCLUDE %d\n", i+1), 8))}
	}
	wide["14"] = &fstest.MapFile{}
	for want, files := range map[string]fstest.MapFS{"Includes too deep": deep, "Too many includes": wide} {
		_, diags := step.Resolve(mustParse(t, "top", "INCLUDE 0"), step.Directory{FS: files})
		if len(diags) != 1 || diags[0].Summary != want {
			t.Errorf("%s: %d messages, first %v", want, len(diags), diags[:min(1, len(diags))])
		}
	}
}

// TestLintTrace: an error of the whole list in an included file has the trace of the include.
func TestLintTrace(t *testing.T) {
	list, _ := step.Resolve(mustParse(t, "d/top", "PKG a1\n  INCLUDE inc"),
		step.Directory{FS: fstest.MapFS{"inc": {Data: []byte("PKG a1\n")}}})
	d := step.Lint(list, step.DebianBase{})
	if len(d) != 1 || d[0].Range.File != "d/inc" || len(d[0].Trace) != 1 || d[0].Trace[0].String() != "d/top:2:3" {
		t.Errorf("%+v", d)
	}
}

type badSource struct{ digest string }

func (badSource) ReadFile(string) ([]byte, error)        { return nil, errors.New("disk on fire") }
func (b badSource) Digest(string) (string, int64, error) { return b.digest, 0, nil }

func TestResolveBadSource(t *testing.T) {
	_, diags := step.Resolve(mustParse(t, "x", "INCLUDE a\nCOPY b /b\nCOPY b /c"), badSource{"md5:1"})
	if len(diags) != 3 || !strings.Contains(diags[0].Detail, "Disk on fire") ||
		!strings.Contains(diags[2].Detail, "md5:1") {
		t.Error(diags)
	}
	for _, d := range diags {
		if d.Severity != diag.Error {
			t.Error(d)
		}
	}
}

func TestDirectoryRefusesDirectories(t *testing.T) {
	f := step.Directory{FS: fstest.MapFS{"d/f": {Data: []byte("x")}}}
	if _, _, err := f.Digest("d"); err == nil {
		t.Error("a directory has a digest")
	}
	if _, err := f.ReadFile("d"); err == nil {
		t.Error("a directory was read")
	}
	if _, n, err := f.Digest("d/f"); n != 1 || err != nil {
		t.Error(n, err)
	}
}
