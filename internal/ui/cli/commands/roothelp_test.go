package commands

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/ui/cli"
)

// TestFirstScreen: the help of the program fits a terminal, and names every command once.
func TestFirstScreen(t *testing.T) {
	root := (&cli.App{Now: time.Now, Commands: All(nil)}).Root()
	text := cli.RootHelp(root, All(nil).Groups)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("the help has %d lines, more than 40:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > cli.HelpWidth {
			t.Errorf("%d columns, more than %d: %s", n, cli.HelpWidth, line)
		}
	}
	_, commands, _ := strings.Cut(text, "Everyday commands:")
	commands, _, _ = strings.Cut(commands, "Flags of most")
	for _, c := range root.Commands() {
		if n := len(regexp.MustCompile(`(?m)(^  fettle | )`+regexp.QuoteMeta(c.Name())+`( |$)`).FindAllString(commands,
			-1)); !c.Hidden && n < 1 {
			t.Errorf("the help does not name %s", c.Name())
		}
	}
}
