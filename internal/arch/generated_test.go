package arch

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/schema"
)

// TestGenerated compares the parts of documents that are made from the program
// with what they should be. -update writes them.
func TestGenerated(t *testing.T) {
	generated(t, "../../docs/steps.md", "verbs", verbTables(t))
	generated(t, "../../docs/language.md", "blocks", blockTable())
	generated(t, "../../ARCHITECTURE.md", "floors", floorTable())
	generated(t, "../../ARCHITECTURE.md", "confinements", confinementTable())
}

func generated(t *testing.T, doc, name, part string) {
	begin, end := "<!-- "+name+": made by go test ./internal/arch -update -->\n", "<!-- end of "+name+" -->\n"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has lost its marks %q and %q", doc, begin, end)
	}
	want := before + begin + part + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s no longer shows the %s that there are. Look at: go test ./internal/arch -update", doc, name)
		return
	}
	if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// blockTable lists the blocks of the language from its schema.
func blockTable() string {
	var b strings.Builder
	b.WriteString("\n| block | attribute | takes | meaning |\n|---|---|---|---|\n")
	for _, block := range schema.Blocks() {
		name := "`" + block.Name + "`"
		if block.Label != "" {
			name += " " + block.Label
		}
		fmt.Fprintf(&b, "| %s | | | %s%s |\n", name, block.Doc, holds(block))
		for _, a := range block.Attrs {
			takes := strings.Replace(a.Type.FriendlyName(), "dynamic", "anything", 1)
			if len(a.OneOf) > 0 {
				takes = "`" + strings.Join(a.OneOf, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| | `%s` | %s | %s |\n", a.Name, takes, a.Doc)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// holds tells which blocks stand inside of one.
func holds(b schema.Block) string {
	names := make([]string, len(b.Inside))
	for i, n := range b.Inside {
		names[i] = "`" + n + "`"
	}
	if b.States {
		names = append(names, "states")
	}
	if len(names) == 0 {
		return ""
	}
	return " Holds " + strings.Join(names, ", ") + "."
}

// floorTable draws the house, the roof first.
func floorTable() string {
	var b strings.Builder
	b.WriteString("\n| | layer | packages |\n|---|---|---|\n")
	for i := len(floors) - 1; i >= 0; i-- {
		names := make([]string, len(floors[i].directories))
		for j, f := range floors[i].directories {
			names[j] = "`" + strings.TrimPrefix(f, "internal/") + "`"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", i+1, floors[i].name, strings.Join(names, " "))
	}
	b.WriteString("\n")
	return b.String()
}

// confinementTable lists the laws about what only some packages of internal may
// import or call. Commands and tests are left out.
func confinementTable() string {
	var b strings.Builder
	b.WriteString("\n| law | packages |\n|---|---|\n")
	for _, c := range confinements {
		var names []string
		for _, a := range c.only {
			if name, ok := strings.CutPrefix(a.name, "internal/"); ok {
				names = append(names, "`"+name+"`")
			}
		}
		if names == nil {
			names = []string{"none"}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", c.law, strings.Join(names, " "))
	}
	b.WriteString("\n")
	return b.String()
}

// checkRecords: each design record has a line in ARCHITECTURE.md.
func checkRecords(dir, document string) []string {
	var broken []string
	err := walk(dir, ".md", func(name string, _ []byte) {
		if strings.HasPrefix(name, "design/") && !strings.Contains(document, "]("+name+")") {
			broken = append(broken, "ARCHITECTURE.md has no line for "+name)
		}
	})
	if err != nil {
		return []string{err.Error()}
	}
	return broken
}

// checkHouse: the table of the house in ARCHITECTURE.md has a line for each
// directory, and for no other.
func checkHouse(pkgs []*pkg, document string) []string {
	have := map[string]bool{}
	for _, p := range pkgs {
		have[upTo(2, p.path)] = true
	}
	var broken []string
	for directory := range have {
		top, _, _ := strings.Cut(directory, "/")
		if !strings.Contains(document, "\n| `"+directory+"` |") && !strings.Contains(document, "\n| `"+top+"` |") {
			broken = append(broken, "the house in ARCHITECTURE.md has no line for "+directory)
		}
	}
	for line := range strings.Lines(document) {
		directory, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |")
		if ok && rest != "" && strings.HasPrefix(directory, "internal/") && !have[directory] {
			broken = append(broken, "the house in ARCHITECTURE.md has a line for "+directory+", which is not there")
		}
	}
	return broken
}
