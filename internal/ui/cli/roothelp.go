package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// HelpWidth is the width of a terminal for which help texts are written, in columns.
const HelpWidth = 80

// everyday are the commands that the first screen explains, each with an example.
func everyday() [][2]string {
	return [][2]string{
		{"init hello", "create a repository with an example"},
		{"validate", "check the repository for every target"},
		{"plan", "show the changes that apply would make"},
		{"apply", "apply the repository to this host"},
		{"drift", "show differences from the applied state"},
		{"rollback", "restore this host to an earlier run"},
		{"status", "show the applied state of this host"},
		{"explain /etc/motd", "show the source line, commit and run of a file"},
	}
}

// RootHelp is the first screen of the program: at most 40 lines of 80 columns. The manual page
// and docs/cli.md have the complete text.
func RootHelp(root *cobra.Command, all []Group) string {
	var b strings.Builder
	b.WriteString(
		"fettle keeps Debian hosts in the state that a git repository describes, and can\nundo every change.\n\n")
	b.WriteString("Usage: fettle COMMAND [flags]\n\nEveryday commands:\n")
	shown := []string{}
	for _, e := range everyday() {
		name := strings.Fields(e[0])[0]
		if c, _, err := root.Find([]string{name}); err == nil && c.HasParent() { // a target has few of them
			fmt.Fprintf(&b, "  fettle %-19s %s\n", e[0], e[1])
			shown = append(shown, name)
		}
	}
	b.WriteString("\nMore commands:\n")
	for _, g := range all {
		var names []string
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && !c.Hidden && !slices.Contains(shown, c.Name()) {
				names = append(names, c.Name())
			}
		}
		slices.Sort(names)
		b.WriteString(wrapped("  "+pad(g.Short, 12)+" ", names))
	}
	b.WriteString(rootFlags)
	return b.String()
}

const rootFlags = `
Flags of most commands:
  -t, --target TARGET   the targets: a name, role:web, label:env=prod, 'web*'
  -C, --chdir DIR       use the repository in DIR
      --json            print one JSON document
  -v, --verbose         show more: sources, whole diffs, every line
  -h, --help            explain a command

Exit codes: 0 success, 1 error, 2 changes or drift, 3 a check failed, 4 locked,
            5 the plan is stale, 6 the run was undone, 64 wrong usage

fettle help COMMAND explains a command. fettle docs explains the language.
`

func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-len(s))) }

// wrapped joins words with blanks into lines of at most helpWidth columns. The first line begins with
// a title, and all words are aligned.
func wrapped(title string, words []string) string {
	var b strings.Builder
	line := title
	for i, w := range words {
		if i > 0 && len(line)+1+len(w) > HelpWidth {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", len(title))
		}
		line += w + " "
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// flagLine matches a line of the help about a flag, up to the description of the flag.
var flagLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ {2}(?:-\w, | {4})--.*? {2,}`) })

// WrapFlags breaks the descriptions of flags in a help text into lines of at most width columns; 0
// disables this. Other lines of a help text are short.
func WrapFlags(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		head := flagLine().FindString(line)
		if room := width - len(head); head != "" && room >= 20 {
			line = head + hanging(strings.Fields(line[len(head):]), len(head), room)
		}
		b.WriteString(line)
	}
	return b.String()
}

// hanging joins words into lines of at most room columns. The second line and later ones are indented.
func hanging(words []string, indent, room int) string {
	var b strings.Builder
	used := 0
	for i, w := range words {
		n := len([]rune(w))
		switch {
		case i == 0:
		case used+1+n > room:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = 0
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(w)
		used += n
	}
	return b.String() + "\n"
}

// NewHelp builds the command help, to explain a command.
func NewHelp(*Session) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "Explain a command",
		Example: "  fettle help apply\n  fettle help secret set",
		Args:    Args(0, -1),
		RunE: func(c *cobra.Command, words []string) error {
			named, rest, err := c.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return UnknownCommand(named, rest)
			}
			return named.Help()
		},
	}
}
