package step_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// With -update the sections diff and reverse are written again. Review the difference in the test
// data like code before you commit it.
var update = flag.Bool("update", false, "rewrite the expected sections")

// TestDiff runs the archives in testdata/diff: a section NAME is a list,
// "diff A B" what FormatDiff says of two, "reverse A" what Reverse says of one.
func TestDiff(t *testing.T) {
	archives, err := filepath.Glob("testdata/diff/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range archives {
		t.Run(filepath.Base(file), func(t *testing.T) { diffArchive(t, file) })
	}
}

func diffArchive(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]step.List{}
	for i, f := range a.Files {
		words := strings.Fields(f.Name)
		var got string
		switch {
		case len(words) == 3 && words[0] == "diff":
			got = step.FormatDiff(step.Diff(lists[words[1]], lists[words[2]]))
		case len(words) == 2 && words[0] == "reverse":
			got = strings.Join(step.Reverse(lists[words[1]]), "\n") + "\n"
		default:
			lists[f.Name] = mustParse(t, f.Name, string(f.Data))
			continue
		}
		if got != string(f.Data) {
			t.Errorf("%s: got\n%swant\n%s", f.Name, got, f.Data)
		}
		a.Files[i].Data = []byte(got)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mustParse(t testing.TB, name, src string) step.List {
	t.Helper()
	list, diags := step.Parse(name, []byte(src))
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	return list
}

// TestDiffApplied checks that the old list without the removed steps and with the added steps
// equals the new list.
func TestDiffApplied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawList(t, "old"), drawList(t, "new")
		have := map[string]int{}
		for _, s := range old {
			have[s.String()]++
		}
		for _, c := range step.Diff(old, new) {
			if c.Old != nil {
				have[c.Old.String()]--
			}
			if c.New != nil {
				have[c.New.String()]++
			}
		}
		for _, s := range new {
			have[s.String()]--
		}
		for line, n := range have {
			if n != 0 {
				t.Fatalf("%q is %+d too often", line, n)
			}
		}
		if d := step.Diff(new, new); len(d) != 0 {
			t.Fatalf("a list differs from itself: %s", step.FormatDiff(d))
		}
	})
}

// Common steps at both ends of two lists do not affect the difference.
func TestDiffNarrowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, last := drawList(t, "first"), drawList(t, "last")
		old := slices.Concat(first, drawList(t, "old"), last)
		new := slices.Concat(first, drawList(t, "new"), last)
		want := step.FormatDiff(step.DiffWhole(old, new))
		if got := step.FormatDiff(step.Diff(old, new)); got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	})
}

func drawList(t *rapid.T, name string) step.List {
	lines := rapid.SliceOf(rapid.SampledFrom([]string{
		"MKDIR /a", "MKDIR /a mode=0700", "COPY f /a/f", "COPY g /a/f", "RM /a/f", "PKG curl", "PKG curl held=true",
		"ACT reload a.service on=pkg:curl", "ACT reload a.service on=file:/a", "INCLUDE x", "USER u", "CHECK c file=/a",
	})).Draw(t, name)
	list, diags := step.Parse(name, []byte(strings.Join(lines, "\n")))
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	return list
}
