package commands

import (
	"strings"
	"testing"

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
