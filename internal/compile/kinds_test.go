package compile_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/kinds"
	"github.com/zclconf/go-cty/cty"
)

const kindsPage = "../../docs/kinds.md"

// The page of the kinds is made from their schemas; -update writes it.
func TestKindsPage(t *testing.T) {
	var b strings.Builder
	all, inGo := len(compile.Kinds()), len(kinds.All())
	fmt.Fprintf(&b, "# Kinds\n\nEvery kind that is built in: %d, of which %d are written in the language and %d in Go. This page is made from the program; `docs/language.md` explains the rest.\n", all, all-inGo, inGo)
	for _, k := range compile.Kinds() {
		page(&b, k)
	}
	if *update {
		if err := os.WriteFile(kindsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(kindsPage)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/kinds.md is not up to date (%v): run go test ./internal/compile -run TestKindsPage -update", err)
	}
}

// The list of kinds in the description of the language has all of them.
func TestKindsInTheLanguage(t *testing.T) {
	page, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n## Kinds\n")
	list, _, _ = strings.Cut(list, "\n## ")
	words := regexp.MustCompile("[a-z0-9_]+").FindAllString(list, -1)
	for _, k := range compile.Kinds() {
		if !slices.Contains(words, k.Name) {
			t.Errorf("docs/language.md: the list of kinds lacks %s", k.Name)
		}
	}
}

// The label of a state is a text, so the attribute that it sets must accept one.
func TestLabelsAreTexts(t *testing.T) {
	for _, k := range compile.Kinds() {
		for _, a := range k.Attrs {
			if a.Name == k.Main && a.Type != cty.String && a.Type != cty.DynamicPseudoType {
				t.Errorf("%s: the label sets %s, which must be %s", k.Name, a.Name, a.Type.FriendlyName())
			}
		}
	}
}

func page(b *strings.Builder, k kind.Kind) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", k.Name, strings.TrimSpace(k.Doc))
	if k.Main != "" {
		fmt.Fprintf(b, "\nThe label sets `%s`.\n", k.Main)
	}
	if len(k.Attrs) > 0 {
		b.WriteString("\n| attribute | type | |\n|---|---|---|\n")
	}
	for _, a := range k.Attrs {
		need := ""
		if a.Required && a.Name != k.Main {
			need = "**needed**: "
		}
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", a.Name, a.Type.FriendlyName(), need, strings.ReplaceAll(a.Doc, "|", "\\|"))
	}
	for i, a := range k.Actions {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- action `%s`: %s\n", a.Name, a.Doc)
	}
}

// Each kind explains itself and each of its attributes.
func TestKindsAreDocumented(t *testing.T) {
	for _, k := range compile.Kinds() {
		if k.Doc == "" {
			t.Errorf("%s has no text", k.Name)
		}
		for _, a := range k.Attrs {
			if a.Doc == "" {
				t.Errorf("%s.%s has no text", k.Name, a.Name)
			}
		}
	}
}
