package selection_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

func Example() {
	inventory := []query.Target{{Name: "web2"}, {Name: "web1", Labels: map[string]string{"env": "prod"}}, {Name: "db1"}}
	s, _ := selection.Parse([]string{"web*", "!label:env=prod"})
	chosen, err := s.Choose(inventory, selection.Given{})
	fmt.Println(names(chosen), err)
	s, _ = selection.Parse([]string{"weeb1"})
	_, err = s.Choose(inventory, selection.Given{})
	fmt.Println(err)
	// Output:
	// web2 <nil>
	// cannot select "weeb1": there is no target with this name. Did you mean "web1"?
}

func names(targets []query.Target) string {
	var out []string
	for _, t := range targets {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

// company is the inventory of the cases.
func company() []query.Target {
	target := func(name string, roles, groups []string, labels ...string) query.Target {
		t := query.Target{Name: name, Roles: roles, Groups: groups, Labels: map[string]string{}}
		for _, l := range labels {
			k, v, _ := strings.Cut(l, "=")
			t.Labels[k] = v
		}
		return t
	}
	return []query.Target{
		target("web3", []string{"base", "web"}, []string{"all"}, "env=staging"),
		target("web1", []string{"base", "web"}, []string{"all", "berlin"}, "env=prod", "canary="),
		target("web2", []string{"base", "web"}, []string{"all", "berlin"}, "env=prod"),
		target("db1", []string{"base", "db"}, []string{"all", "berlin"}, "env=prod"),
		target("db2.example.org", []string{"base", "db"}, []string{"all"}, "env=staging", "team=a,b"),
		target("odd*", nil, []string{"all"}),
		target("group:x", nil, []string{"all"}),
	}
}

// choose evaluates a selection with the files of the cases.
func choose(words ...string) string {
	s, err := selection.Parse(words)
	if err != nil {
		return "error: " + err.Error()
	}
	chosen, err := s.Choose(company(), selection.Given{
		Failed: []string{"db1", "gone"},
		Files: map[string]string{
			"hosts.txt": "# those of tonight\nweb1\r\n\n  db* # all of them\n!db1\n", "empty.txt": "# nothing\n\n",
			"not.txt": "!web1\n!web2",
			"bad.txt": "web1\nwbe2\na,,b\n@failed\n", "failed": "web3",
		},
	})
	if err != nil {
		return "error: " + err.Error()
	}
	return names(chosen)
}

// update rewrites the expected results. Review the difference like code.
var update = flag.Bool("update", false, "rewrite testdata/cases.txtar")

// Each line of testdata/cases.txtar contains arguments separated by -t, then =>, and the selected
// targets.
func TestCases(t *testing.T) {
	const file = "testdata/cases.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, section := range a.Files {
		fresh := ""
		for line := range strings.Lines(string(section.Data)) {
			words, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " =>")
			if !ok {
				t.Fatalf("%s has no =>", line)
			}
			got := strings.ReplaceAll(choose(strings.Split(words, " -t ")...), "\n", " | ")
			if fresh += words + " => " + got + "\n"; " "+got != want && !*update {
				t.Errorf("%s: %s => %s\nwant%s", section.Name, words, got, want)
			}
		}
		a.Files[i].Data = []byte(fresh)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// All examples of the grammar can be parsed, and its lines fit a terminal.
func TestGrammar(t *testing.T) {
	count := 0
	for line := range strings.Lines(selection.Grammar) {
		if len(line) > 81 {
			t.Errorf("too long: %s", line)
		}
		if word := strings.Fields(line); strings.HasPrefix(line, "  ") && line[2] != ' ' {
			count++
			if _, err := selection.Parse(word[:1]); err != nil {
				t.Error(err)
			}
		}
	}
	if count < 14 {
		t.Errorf("%d examples", count)
	}
}

func TestFilesAndFailed(t *testing.T) {
	s, err := selection.Parse([]string{"@b,@a\\,1&!@b", "@failed", "@./failed"})
	if err != nil || !s.Failed() || fmt.Sprint(s.Files()) != "[./failed a,1 b]" ||
		s.String() != "@b,@a\\,1&!@b,@failed,@./failed" {
		t.Error(s.Files(), s.Failed(), s, err)
	}
	var all selection.Selection
	if chosen, err := all.Choose(company(), selection.Given{}); err != nil || len(chosen) != len(company()) ||
		all.Failed() || all.Files() != nil {
		t.Error(chosen, err)
	}
}

// expression is a selection as text and as a condition.
type expression struct {
	text     string
	negative bool
	holds    func(query.Target) bool
}

func factors() *rapid.Generator[expression] {
	return rapid.Custom(func(t *rapid.T) expression {
		x := rapid.SampledFrom([]expression{
			{"web1", false, func(t query.Target) bool { return t.Name == "web1" }},
			{`odd\*`, false, func(t query.Target) bool { return t.Name == "odd*" }},
			{"web*", false, func(t query.Target) bool { return strings.HasPrefix(t.Name, "web") }},
			{"*[13]", false, func(t query.Target) bool {
				return strings.HasSuffix(t.Name, "1") ||
					strings.HasSuffix(t.Name, "3")
			}},
			{"{web2,db*}", false, func(t query.Target) bool { return t.Name == "web2" || strings.HasPrefix(t.Name, "db") }},
			{"group:berlin", false, func(t query.Target) bool { return slices.Contains(t.Groups, "berlin") }},
			{"role:db", false, func(t query.Target) bool { return slices.Contains(t.Roles, "db") }},
			{"label:env=prod", false, func(t query.Target) bool { return t.Labels["env"] == "prod" }},
			{"label:env!=prod", false, func(t query.Target) bool { return t.Labels["env"] != "prod" }},
			{"label:canary", false, func(t query.Target) bool { _, ok := t.Labels["canary"]; return ok }},
			{"@failed", false, func(t query.Target) bool { return t.Name == "db1" }},
			{"@not.txt", false, func(t query.Target) bool { return t.Name != "web1" && t.Name != "web2" }},
		}).Draw(t, "factor")
		if rapid.Bool().Draw(t, "not") {
			holds := x.holds
			return expression{"!" + x.text, true, func(t query.Target) bool { return !holds(t) }}
		}
		return x
	})
}

func terms() *rapid.Generator[expression] {
	return rapid.Custom(func(t *rapid.T) expression {
		parts := rapid.SliceOfN(factors(), 1, 3).Draw(t, "term")
		out := expression{negative: true, holds: func(target query.Target) bool {
			return !slices.ContainsFunc(parts, func(x expression) bool { return !x.holds(target) })
		}}
		var text []string
		for _, x := range parts {
			text = append(text, x.text)
			out.negative = out.negative && x.negative
		}
		out.text = strings.Join(text, " & ")
		return out
	})
}

// meant returns the expected targets, by an independent implementation of the grammar.
func meant(list []expression) string {
	var out []query.Target
	for _, target := range company() {
		in := !slices.ContainsFunc(list, func(x expression) bool { return !x.negative })
		for _, x := range list {
			in = in || !x.negative && x.holds(target)
		}
		for _, x := range list {
			in = in && (!x.negative || x.holds(target))
		}
		if in {
			out = append(out, target)
		}
	}
	slices.SortFunc(out, func(a, b query.Target) int { return strings.Compare(a.Name, b.Name) })
	return names(out)
}

// Selections are sets: the order of arguments, the use of commas or -t, and the order of the
// inventory have no effect.
func TestAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(terms(), 1, 5).Draw(t, "terms")
		want := meant(list)
		var words []string
		for _, x := range rapid.Permutation(list).Draw(t, "order") {
			words = append(words, x.text)
		}
		for _, given := range [][]string{words, {strings.Join(words, ", ")}, append(words, words...)} {
			got := choose(given...)
			if want == "" && strings.Contains(got, "no target matches") {
				continue
			}
			if strings.HasPrefix(got, "error: cannot select @failed") && want == "" {
				continue
			}
			if got != want {
				t.Fatalf("%q chooses %s, want %s", given, got, want)
			}
		}
	})
}

// A quoted name selects exactly this name.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]{}\,&!@:=# -^é`)), 1, 8, -1), 1, 6,
			rapid.ID).Draw(t, "names")
		var inventory []query.Target
		for _, n := range all {
			inventory = append(inventory, query.Target{Name: n})
		}
		name := rapid.SampledFrom(all).Draw(t, "name")
		s, err := selection.Parse([]string{selection.Quote(name)})
		if err != nil {
			t.Fatal(err)
		}
		if chosen, err := s.Choose(inventory, selection.Given{}); err != nil || len(chosen) != 1 || chosen[0].Name != name {
			t.Fatalf("%q as %q chooses %v, %v", name, selection.Quote(name), chosen, err)
		}
	})
}

// FuzzParse: every argument is refused, or selects targets of the inventory in order.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/cases.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words, _, _ := strings.Cut(line, " => ")
		f.Add(words, "web1\n!db* # x\n")
	}
	f.Fuzz(func(t *testing.T, word, file string) {
		s, err := selection.Parse([]string{word})
		if err != nil {
			return
		}
		g := selection.Given{Files: map[string]string{}}
		for _, name := range s.Files() {
			g.Files[name] = file
		}
		chosen, err := s.Choose(company(), g)
		again, more := s.Choose(company(), g)
		if fmt.Sprint(chosen, err) != fmt.Sprint(again, more) || (err == nil) != (len(chosen) > 0) {
			t.Fatal(chosen, err, again, more)
		}
		if !slices.IsSortedFunc(chosen, func(a, b query.Target) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatal(names(chosen))
		}
	})
}
