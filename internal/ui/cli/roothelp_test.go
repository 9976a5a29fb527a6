package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestFirstScreen: the help of the program fits a terminal, and names every command once.
func TestFirstScreen(t *testing.T) {
	root := newRoot(&session{printer: &printer{app: &App{Now: time.Now}}})
	text := rootHelp(root)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("the help has %d lines, more than 40:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > helpWidth {
			t.Errorf("%d columns, more than %d: %s", n, helpWidth, line)
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
