package arch

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// overview measures the structure of the project in a few lines, to compare two commits.
type overview struct {
	methods, fields map[string]int // of types
	files, lines    map[string]int // of packages, without tests
	allLines        int
	comments        int // lines of allLines that are comments
}

func overviewOf(t *testing.T, pkgs []*pkg) overview {
	o := overview{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, 0, 0}
	for _, p := range pkgs {
		for name, n := range p.methods() {
			o.methods[p.path+"."+name] = n
		}
		for name, n := range p.fields() {
			o.fields[p.path+"."+name] = n
		}
		o.files[p.path] = len(p.files)
		for _, f := range p.files {
			text, err := os.ReadFile(filepath.Join("../..", p.file(f.Package)))
			if err != nil {
				t.Fatal(err)
			}
			lines, comments := countLines(text)
			o.lines[p.path] += lines
			o.allLines += lines
			o.comments += comments
		}
	}
	return o
}

// countLines counts the lines of a source file, and those that are only a comment.
func countLines(text []byte) (lines, comments int) {
	for line := range bytes.Lines(text) {
		lines++
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			comments++
		}
	}
	return lines, comments
}

// String is a table of the largest types and packages.
func (o overview) String() string {
	var b strings.Builder
	row := func(what string, values map[string]int) {
		fmt.Fprintf(&b, "%s: %s\n", what, largestOf(values, 5))
	}
	row("methods of types", o.methods)
	row("fields of types", o.fields)
	row("lines of packages", o.lines)
	row("files of packages", o.files)
	share := 100 * float64(o.comments) / float64(max(1, o.allLines))
	fmt.Fprintf(&b, "lines that are comments: %.1f%% of %d\n", share, o.allLines)
	return b.String()
}

// largestOf lists the n largest values with their names, in decreasing order.
func largestOf(values map[string]int, n int) string {
	names := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[b], values[a]) })
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%d %s", values[name], strings.TrimPrefix(name, "internal/")))
	}
	return strings.Join(out, ", ")
}

// TestOverview: the overview has the largest first.
func TestOverview(t *testing.T) {
	if got, want := largestOf(map[string]int{"internal/a": 1, "b": 3, "c": 3}, 2), "3 b, 3 c"; got != want {
		t.Errorf("the largest are %q, want %q", got, want)
	}
	if lines, comments := countLines([]byte("// A\n\tx() // B\n\t// C\n")); lines != 3 || comments != 2 {
		t.Errorf("%d lines and %d comments, want 3 and 2", lines, comments)
	}
}
