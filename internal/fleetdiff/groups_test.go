package fleetdiff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/step"
)

// A difference that several have is told once, with what differs among them
// left open.
func TestFleetGroups(t *testing.T) {
	list := func(text string) step.List {
		l, ds := step.Parse("list", []byte(text))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		return l
	}
	copied := func(digit, path string) string { return "COPY sha256:" + strings.Repeat(digit, 64) + " " + path + "\n" }
	g := Groups{}
	for i, name := range []string{"a1", "a2", "a3"} {
		d := fmt.Sprint(i)
		g.Add(name, step.Diff(list("PKG xx\n"+copied("9", "/etc/"+name)),
			list("PKG xx\n"+copied(d, "/etc/"+name)+copied("8", "/etc/all"))))
	}
	g.Add("b", step.Diff(list("PKG xx\n"), list("PKG yy\n")))
	g.Add("c", step.Diff(list("PKG xx\n"), list("PKG xx\n")))
	all := g.Sorted()
	if len(all) != 2 || strings.Join(all[0].Targets, " ") != "a1 a2 a3" || strings.Join(all[1].Targets, " ") != "b" {
		t.Fatalf("%+v", all)
	}
	text := strings.Join(all[0].Lines, "\n")
	for _, part := range []string{"sha256:… /etc/{target}", strings.Repeat("8", 64) + " /etc/all",
		strings.Repeat("9", 64) + " /etc/{target}"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q", text, part)
		}
	}
}

// diffOf gathers the difference of each target, which comes to have its steps.
func diffOf(t rapid.TB, lists map[string]string, names ...string) []Diff {
	g := Groups{}
	for _, n := range names {
		l, ds := step.Parse("list", []byte(lists[n]))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		g.Add(n, step.Diff(nil, l))
	}
	return g.Sorted()
}

// A directory that is called as a target is keeps its name: only a place at which each target
// has its own name comes from the name of the target.
func TestNamesInPaths(t *testing.T) {
	for _, c := range []struct {
		lists map[string]string
		want  string
	}{
		{map[string]string{"a": "MKDIR /etc/a\n"}, "a: +MKDIR /etc/a"},
		{map[string]string{"a": "MKDIR /etc/a\n", "b": "MKDIR /etc/a\n", "c": "MKDIR /etc/a\n"}, "a b c: +MKDIR /etc/a"},
		{map[string]string{"a": "MKDIR /etc/a\n", "b": "MKDIR /etc/b\n"}, "a b: +MKDIR /etc/{target}"},
		{map[string]string{"a": "MKDIR /etc/a/a.d\n", "b": "MKDIR /etc/a/b.d\n"}, "a b: +MKDIR /etc/a/{target}.d"},
		{map[string]string{"a": "MKDIR /etc/a\nMKDIR /srv/a\n", "b": "MKDIR /etc/a\nMKDIR /srv/b\n",
			"c": "MKDIR /etc/a\nMKDIR /srv/c\n"}, "a b c: +MKDIR /etc/a +MKDIR /srv/{target}"},
		{map[string]string{"etc": "MKDIR /etc/x\n", "srv": "MKDIR /etc/x\n"}, "etc srv: +MKDIR /etc/x"},
	} {
		var got []string
		for _, d := range diffOf(t, c.lists, slices.Sorted(maps.Keys(c.lists))...) {
			got = append(got, strings.Join(d.Targets, " ")+": "+strings.Join(d.Lines, " "))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%v are %q, want %q", c.lists, text, c.want)
		}
	}
}

// Whatever names and paths there are: what is shown for a target, with its name in the place of
// {target}, is its difference, and each target is shown once.
func TestFoldingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []string{"a", "b", "etc", "srv", "web1"}
		names := all[:rapid.IntRange(1, len(all)).Draw(t, "targets")]
		word := rapid.SampledFrom(append(slices.Clone(all), "NAME", "NAME", "x"))
		shared := rapid.SliceOfNDistinct(rapid.Map(rapid.SliceOfN(word, 1, 3),
			func(w []string) string { return "MKDIR /" + strings.Join(w, "/") + "\n" }), 1, 3, rapid.ID).Draw(t, "lines")
		lists := map[string]string{}
		for _, n := range names {
			for _, line := range shared {
				if line = strings.ReplaceAll(line, "NAME", n); !strings.Contains(lists[n], line) &&
					rapid.IntRange(0, 4).Draw(t, "has") > 0 {
					lists[n] += line
				}
			}
		}
		var shown []string
		for _, d := range diffOf(t, lists, names...) {
			for _, n := range d.Targets {
				shown = append(shown, n)
				got := strings.ReplaceAll(strings.Join(d.Lines, "\n")+"\n", "{target}", n)
				if want := "+" + strings.ReplaceAll(strings.TrimSuffix(lists[n], "\n"), "\n", "\n+") + "\n"; got != want {
					t.Fatalf("%s is shown as\n%swant\n%s", n, got, want)
				}
			}
		}
		slices.Sort(shown)
		for _, n := range names {
			if slices.Contains(shown, n) != (lists[n] != "") {
				t.Fatalf("%q are shown of %v", shown, lists)
			}
		}
		if len(slices.Compact(slices.Clone(shown))) != len(shown) {
			t.Fatalf("%q are shown", shown)
		}
	})
}

// Only complete digests are masked.
func TestMaskDigests(t *testing.T) {
	d := strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"": "", "COPY /x": "COPY /x", "sha256:": "sha256:", "sha256:" + d: "sha256:…",
		"a sha256:" + d + "f sha256:" + d + " b": "a sha256:…f sha256:… b",
		"sha256:" + d[1:]:                        "sha256:" + d[1:], "sha256:sha256:" + d: "sha256:sha256:…",
		"sha256:" + strings.ToUpper(d): "sha256:" + strings.ToUpper(d),
	} {
		if got := maskDigests(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Sources are known or unknown for all lines; other targets of a group do not change them.
func TestSources(t *testing.T) {
	step1 := func(source string) *step.Step {
		l, ds := step.Parse("list", []byte("MKDIR /x\n"))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		l[0].Source = source
		return &l[0]
	}
	var g, none Groups
	g.Add("a", []step.Change{{Old: step1("web.hcl:1"), New: step1("web.hcl:2")}})
	g.Add("b", []step.Change{{Old: step1("other.hcl:1"), New: step1("")}})
	none.Add("a", []step.Change{{New: step1("")}})
	if all := g.Sorted(); len(all) != 1 || strings.Join(all[0].Sources, " ") != "web.hcl:1 web.hcl:2" {
		t.Errorf("%+v", all)
	}
	if all := none.Sorted(); all[0].Sources != nil {
		t.Errorf("%+v", all)
	}
}
