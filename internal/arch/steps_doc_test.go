package arch

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
)

// verbTables describes every verb from its schema.
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
		step.Text: "text", step.Bool: "true or false", step.Mode: "octal digits", step.Int: "number",
		step.Seconds: "duration, such as 30s",
		step.AbsPath: "absolute path", step.Address: "address, such as file:/etc/motd",
		step.Pattern: "regular expression (RE2)",
		step.Words:   "command line", step.Present: "present or absent", step.Purgeable: "present, absent or purged",
		step.Account: "name or number", step.UnitName: "unit",
		step.Version: "Debian version", step.Assignment: "NAME=VALUE", step.URL: "URL", step.HostPort: "host:port",
	}
	if words[k] == "" {
		t.Fatalf("typeWord has no word for type %d of a key", k)
	}
	return words[k]
}
