package commands

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

// TestWrapFlags: descriptions of flags fit a terminal and lose no word, and other lines stay as they
// are.
func TestWrapFlags(t *testing.T) {
	const text = "A line of the description that is longer than the width stays.\n\nFlags:\n" +
		"      --via any|ssh|hub     any: as the repository declares, otherwise through the hub\n" +
		"  -t, --target TARGET       work for this TARGET\n"
	const want = "A line of the description that is longer than the width stays.\n\nFlags:\n" +
		"      --via any|ssh|hub     any: as the repository\n" +
		"                            declares, otherwise\n" +
		"                            through the hub\n" +
		"  -t, --target TARGET       work for this TARGET\n"
	if got := cli.WrapFlags(text, 52); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := cli.WrapFlags(text, 0); got != text {
		t.Errorf("without a limit, the text changed:\n%s", got)
	}
	if got := cli.WrapFlags(text, 30); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
		t.Errorf("a word is missing:\n%s", got)
	}
}

// TestWidthOfHelp: the descriptions of all commands fit a terminal with 80 columns.
func TestWidthOfHelp(t *testing.T) {
	err := walk((&cli.App{Now: time.Now, Commands: All(nil)}).Root(), func(c *cobra.Command) error {
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: a line of the description has %d columns, and can have 80: %s", c.CommandPath(), n, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
