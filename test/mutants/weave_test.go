package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// example is the code of TestFind as a loaded package, with its mutants that compile.
func example(t *testing.T) (*target, []mutant) {
	t.Helper()
	file, err := filepath.Abs("testdata/find.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	world(t, string(a.Files[0].Data), "package p\n")
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(root, "p")
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.mutants()
	if err != nil {
		t.Fatal(err)
	}
	return p, slices.DeleteFunc(all, func(m mutant) bool {
		text, err := p.edited(m)
		return err != nil || !p.compiles(m.file, text)
	})
}

// TestWeave: one build has all mutants except those of constants, and each is the mutant of a build of its own.
func TestWeave(t *testing.T) {
	p, ms := example(t)
	ws, err := p.weave(ms)
	if err != nil || len(ws) != 1 {
		t.Fatal(len(ws), err)
	}
	for _, m := range ms {
		if in := slices.ContainsFunc(ws[0].ms, func(o mutant) bool { return o.name() == m.name() }); in == (m.fn == "const") {
			t.Errorf("%s is in the common build: %t", m.name(), in)
		}
		edited, err := p.edited(m)
		if err != nil {
			t.Fatal(err)
		}
		w := ws[0]
		if got := string(w.src[:m.place.start]) + w.changed(m) + string(w.src[m.place.end:]); got != string(edited) {
			t.Errorf("%s:\n%s\nwant\n%s", m.name(), got, edited)
		}
	}
	if text := string(ws[0].text()); strings.Count(text, choice+"(") != len(ws[0].ms) {
		t.Errorf("%d mutants, and the text is\n%s", len(ws[0].ms), text)
	}
}

// TestSameVerdict: a mutant in the common build is noticed by the tests that notice it in its own build.
func TestSameVerdict(t *testing.T) {
	p, ms := example(t)
	test := "package p\n\nimport \"testing\"\n\nfunc TestTakes(t *testing.T) {\n" +
		"\tif !takes(hub, person, hub) || takes(hub, target) || !bus(target, make(chan bool, 1), &file{}) || bus(\"\", make(chan bool, 1), nil) {\n\t\tt.Fatal()\n\t}\n}\n\n" +
		"func TestSave(t *testing.T) {\n\tif n, err := save(&file{}, []byte{1, 2}); n != 4 || err != nil {\n\t\tt.Fatal(n, err)\n\t}\n}\n"
	if err := os.WriteFile("p/in_test.go", []byte(test), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: p, tests: []string{"p"}, dir: t.TempDir()}
	if err := b.prepare(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	dead := map[bool]int{}
	for i, m := range ms {
		if i%5 > 0 || b.ids[m.name()] == 0 { // some of them: each costs a build
			continue
		}
		together, err := b.kills(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		number := b.ids[m.name()]
		delete(b.ids, m.name())
		alone, err := b.kills(t.Context(), m)
		if err != nil || alone != together {
			t.Errorf("%s: killed %t, in a build of its own %t, %v", m.name(), together, alone, err)
		}
		b.ids[m.name()] = number
		dead[together]++
	}
	if dead[true] == 0 || dead[false] == 0 {
		t.Errorf("%d killed, %d survived", dead[true], dead[false])
	}
}

// TestGroups: only tests that reach a mutant run, those of the package itself and then the fastest first; the full
// form of the tests comes alone.
func TestGroups(t *testing.T) {
	reach := func(test string, took time.Duration, numbers ...int) trial {
		r := trial{directory: "p", test: test, took: took, reached: map[int]bool{}}
		for _, n := range numbers {
			r.reached[n] = true
		}
		return r
	}
	other := reach("TestOther", 0, 1)
	other.directory, other.place = "q", 1
	ts := []trial{other, reach("", time.Second, 1), reach("TestSlow", time.Second, 1, 2),
		reach("TestB", 20*time.Millisecond, 1), reach("TestA", 10*time.Millisecond, 1), reach("TestNot", 0, 3)}
	for number, want := range map[int]string{0: "TestNot TestA TestB|(full)|TestSlow|TestOther",
		1: "TestA TestB|(full)|TestSlow|TestOther", 2: "TestSlow", 3: "TestNot", 4: ""} {
		var got []string
		for _, g := range groups(ts, number) {
			var names []string
			for _, one := range g {
				names = append(names, strings.TrimSpace(one.test))
			}
			got = append(got, strings.Join(names, " "))
		}
		if text := strings.ReplaceAll(strings.Join(got, "|"), "||", "|(full)|"); text != want {
			t.Errorf("mutant %d: %s, want %s", number, text, want)
		}
	}
}
