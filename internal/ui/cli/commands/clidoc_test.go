package commands

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

// TestCommandDocument keeps docs/cli.md in step with the commands, and holds
// every command to a help text with an example.
func TestCommandDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command line\n\nThese are the help texts of all commands. [json.md](json.md) describes the output of `--json`.\n")
	root := (&cli.App{Now: time.Now, Commands: All(nil)}).Root()
	err := walk(root, func(c *cobra.Command) error {
		if c.Short == "" || c.Example == "" && !c.HasSubCommands() {
			t.Errorf("%s has no short help or no example", c.CommandPath())
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine())
		if c.Long != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", c.Long)
		}
		flags := c.LocalNonPersistentFlags()
		if !c.HasParent() {
			flags = c.PersistentFlags()
		}
		if flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n```text\n%s```\n", flags.FlagUsages())
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```sh\n%s\n```\n", unindent(c.Example))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../../../docs/cli.md"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(b.String())) {
		t.Errorf("%s is not what the commands say; see the difference with -update", file)
	}
}

func unindent(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

// TestJSONDocument: docs/json.md names every format.
func TestJSONDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for format := range documents() {
		if !bytes.Contains(text, []byte("`"+format+"`")) {
			t.Errorf("docs/json.md does not tell of %s", format)
		}
	}
}
