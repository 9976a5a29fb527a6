package commands

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/fact"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/ui/cli"
)

// TestShownCommands: every command line that help texts, documents and messages show
// is one that fettle accepts: the command exists, its flags and the number of its
// arguments are right, selections and names of facts are valid, and URLs of hubs have
// the port that hubs listen on.
func TestShownCommands(t *testing.T) {
	const repository = "../../../.."
	lines := linesOfDocuments(t, repository)
	lines = append(lines, linesOfSource(t, repository+"/internal")...)
	lines = append(lines, linesOfSource(t, repository+"/cmd")...)
	lines = append(lines, linesOfHelp(t)...)
	for _, l := range lines {
		if err := l.check(); err != nil {
			t.Errorf("%s: fettle %s: %v", strings.TrimPrefix(l.where, repository+"/"), strings.Join(l.words, " "), err)
		}
	}
	if len(lines) < 500 {
		t.Errorf("found only %d command lines; the search is broken", len(lines))
	}
	t.Logf("%d command lines", len(lines))
}

// TestShownCommandsRefused: the check finds what is wrong with a line.
func TestShownCommandsRefused(t *testing.T) {
	for _, line := range []string{
		"fettle aply", "fettle plan --colour", "fettle plan -t role=web", "fettle facts hostname memory", "fettle show 1 2",
		"fettle hub upgarde", "fettle login https://hub.example.org:7443", "fettle apply --confirm-within soon",
	} {
		for _, l := range linesInShell("here", line) {
			if l.check() == nil {
				t.Errorf("%q passes", line)
			}
		}
	}
}

func linesOfHelp(t *testing.T) []shownLine {
	var out []shownLine
	err := walk((&cli.App{Now: time.Now, Commands: All(nil)}).Root(), func(c *cobra.Command) error {
		for line := range strings.Lines(c.Example) {
			out = append(out, linesInShell("help of "+c.CommandPath(), line)...)
		}
		out = append(out, linesInText("help of "+c.CommandPath(), c.Long, true)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// check parses the line as the program would, up to where the command would run.
func (l shownLine) check() error {
	root := (&cli.App{Now: time.Now, Commands: All(nil)}).Root()
	c, rest, err := root.Find(l.words)
	switch {
	case err != nil:
		return err
	case c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		if l.whole {
			return cli.UnknownCommand(root, rest)
		}
		return nil // "fettle keeps …" in a sentence
	}
	c.InitDefaultHelpFlag()
	if c.HasSubCommands() && len(rest) > 0 && rest[0] == "X" {
		return nil // the message puts the name of the command in
	}
	if err := c.ParseFlags(samples(c, rest)); err != nil {
		return err
	}
	if c.Flags().Changed("help") {
		return nil
	}
	args := c.Flags().Args()
	if c.Args != nil && (l.whole || c.HasSubCommands() && len(args) > 0) &&
		!strings.Contains(strings.Join(args, " "), "X") {
		if err := c.Args(c, args); err != nil {
			return err
		}
	}
	return l.values(c, args)
}

var placeholder = regexp.MustCompile(`^[A-Z…<][A-Z0-9_…>-]*$`)

// samples puts values that flags can parse where the line has placeholders.
func samples(c *cobra.Command, words []string) []string {
	sample := map[string]string{"duration": "1h", "int": "1", "bool": "true", "lifetime": "1h"}
	out := append([]string{}, words...)
	for i := 1; i < len(out); i++ {
		f := c.Flag(strings.TrimLeft(out[i-1], "-"))
		if f == nil || !strings.HasPrefix(out[i-1], "--") || !placeholder.MatchString(out[i]) {
			continue
		}
		if value, ok := sample[f.Value.Type()]; ok {
			out[i] = value
		}
	}
	return out
}

// values checks the values of flags and arguments that mean something by themselves.
func (l shownLine) values(c *cobra.Command, args []string) error {
	if f := c.Flag("target"); f != nil && f.Changed {
		if words, ok := f.Value.(pflag.SliceValue); ok {
			if _, err := selection.Parse(words.GetSlice()); err != nil {
				return err
			}
		}
	}
	if c.CommandPath() == "fettle facts" {
		for _, name := range args {
			if _, err := fact.Find(name); err != nil && !placeholder.MatchString(name) {
				return err
			}
		}
	}
	for _, word := range l.words {
		u, err := url.Parse(word)
		if err == nil && u.Scheme == "https" && strings.HasPrefix(u.Hostname(), "hub") &&
			u.Port() != fmt.Sprint(hub.DefaultAPI) {
			return fmt.Errorf("hubs listen on port %d", hub.DefaultAPI)
		}
	}
	return nil
}
