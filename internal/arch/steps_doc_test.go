package arch

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
)

// TestStepsDocument compares the verbs in docs/steps.md with step.Schemas.
// -update writes them there.
func TestStepsDocument(t *testing.T) {
	const doc, begin, end = "../../docs/steps.md", "<!-- verbs: made by go test ./internal/arch -update -->\n", "<!-- end of verbs -->\n"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has lost its marks %q and %q", doc, begin, end)
	}
	want := before + begin + verbTables(t) + end + after
	if *update && want != string(text) {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s no longer says what step.Schemas says. Look at: go test ./internal/arch -update", doc)
	}
}

func verbTables(t *testing.T) string {
	var b strings.Builder
	for _, s := range step.Schemas() {
		fmt.Fprintf(&b, "\n### %s\n\n`%s %s`: %s.\n", s.Verb, s.Verb, strings.Join(s.Args, " "), s.Doc)
		if len(s.Keys) == 0 {
			continue
		}
		b.WriteString("\n| key | value | meaning |\n|---|---|---|\n")
		for _, k := range s.Keys {
			what := typeWord(t, k.Type)
			if k.List {
				what += "; may stand more than once"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, what, strings.ReplaceAll(k.Doc, "|", `\|`))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// typeWord says what a value looks like.
func typeWord(t *testing.T, k step.Type) string {
	words := map[step.Type]string{
		step.Text: "text", step.Bool: "true or false", step.Mode: "octal digits", step.Int: "number", step.Seconds: "duration, such as 30s",
		step.AbsPath: "absolute path", step.Address: "address, such as file:/etc/motd", step.Pattern: "regular expression (RE2)",
		step.Words: "command line", step.Present: "present or absent", step.Account: "name or number", step.UnitName: "unit",
		step.Version: "Debian version", step.Assignment: "NAME=VALUE", step.URL: "URL", step.HostPort: "host:port",
	}
	if words[k] == "" {
		t.Fatalf("typeWord has no word for type %d of a key", k)
	}
	return words[k]
}
