package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const profile = `mode: set
fettle.dev/fettle/internal/a/a.go:3.1,5.2 3 1
fettle.dev/fettle/internal/a/a.go:3.1,5.2 3 0
fettle.dev/fettle/internal/a/b.go:3.1,5.2 1 0
fettle.dev/fettle/internal/b/b.go:1.1,2.2 4 0
fettle.dev/fettle/internal/b/b.go:1.1,2.2 4 7
`

// TestGate: a block that any test runs has been run, and only what is below its
// floor fails.
func TestGate(t *testing.T) {
	for _, c := range []struct{ name, floors, table, failure string }{
		{"at the floor", "internal/a 75\ninternal/b 100\n",
			"internal/a                                    4    75.0%    75.0%", ""},
		{"below", "internal/a 75.1\ninternal/b 100\n", "75.1%", "below the floor: internal/a;"},
		{"a file", "# why\ninternal/a 70\ninternal/a/b.go 1\n", "internal/a/b.go", "below the floor: internal/a/b.go;"},
		{"not measured", "internal/c 1\n", "internal/c", "below the floor: internal/c;"},
		{"unsorted", "internal/b 1\ninternal/a 1\n", "", "sort them"},
		{"twice", "internal/a 1\ninternal/a 1\n", "", "sort them"},
		{"no number", "internal/b\n", "", "write PATH PERCENT"},
		{"no percentage", "internal/b 101\n", "", "write PATH PERCENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			floors, err := parseFloors(c.floors)
			if err == nil {
				got, rerr := read(profile, module)
				if rerr != nil {
					t.Fatal(rerr)
				}
				table, _ := compare(floors, got)
				if !strings.Contains(table, c.table) {
					t.Errorf("the table lacks %q:\n%s", c.table, table)
				}
				err = run([]string{"-floors", write(t, c.floors), "-profile", write(t, profile)})
			}
			if (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
				t.Errorf("error %v, want %q", err, c.failure)
			}
		})
	}
}

func TestBadProfile(t *testing.T) {
	for _, text := range []string{"a.go:1.1,2.2 x 1", "a.go:1.1,2.2 1", "a.go 1 1"} {
		if _, err := read(text, module); err == nil {
			t.Errorf("the profile %q is read", text)
		}
	}
}

// TestFloors: the floors name existing directories, and each package of verbs has a floor.
func TestFloors(t *testing.T) {
	text, err := os.ReadFile("floors.txt")
	if err != nil {
		t.Fatal(err)
	}
	floors, err := parseFloors(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range floors {
		if _, err := os.Stat(filepath.Join("../..", f.path)); err != nil {
			t.Errorf("the floor of %s is of nothing: %v", f.path, err)
		}
	}
	verbs, err := os.ReadDir("../../internal/verb")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if v.IsDir() && !strings.Contains(string(text), "\ninternal/verb/"+v.Name()+" ") {
			t.Errorf("internal/verb/%s has no floor", v.Name())
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
