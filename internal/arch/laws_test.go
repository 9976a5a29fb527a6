package arch

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

// update rewrites testdata/lawless.golden. Read the difference like code.
var update = flag.Bool("update", false, "rewrite golden files")

// TestHouse holds every law against the project.
func TestHouse(t *testing.T) {
	pkgs := loadProject(t)
	house, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	laws := map[string][]string{
		"house":        checkHouse(pkgs, string(house)),
		"floors":       checkFloors(pkgs, true),
		"confinements": checkConfinements(pkgs, confinements, true),
		"records":      checkRecords("../..", string(house)),
		"pure":         checkPure(pkgs, true),
		"form":         checkForm(pkgs),
		"functions":    checkFunctions(pkgs, longFunctions, true),
		"files":        checkFiles("../..", longFiles, true),
		"links":        checkLinks("../.."),
		"words":        checkWords("../..", wordsAllowed, true),
	}
	for name, broken := range laws {
		t.Run(name, func(t *testing.T) { report(t, broken) })
	}
	t.Logf("the twenty longest functions:\n%s", longest(pkgs, 20))
}

// TestLawless shows that each law can fail: testdata/lawless breaks all of
// them, and every breach is found.
func TestLawless(t *testing.T) {
	const dir, golden = "testdata/lawless", "testdata/lawless.golden"
	pkgs := load(t, dir)
	found := slices.Concat(
		checkFloors(pkgs, false), checkConfinements(pkgs, confinements, false), checkPure(pkgs, false), checkForm(pkgs),
		checkHouse(pkgs, "\n| `internal/addr` | x |\n| `internal/gone` | x |\n| `internal/kind` | x |\n| `internal/plan` | x |\n| `internal/step` | x |\n"),
		checkFunctions(pkgs, []allowed{{"internal/addr.Gone", "it went"}}, true), checkFiles(dir, nil, false),
		checkLinks(dir), checkWords(dir, nil, false), checkRecords(dir, ""),
	)
	slices.Sort(found)
	got := strings.Join(found, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("found:\n%s\nwant:\n%s", got, want)
	}
}
