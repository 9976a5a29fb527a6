package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/ui/cli"
)

func newMan(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR [DOCUMENT…]",
		Short:  "Write the manual pages of the commands, or of Markdown documents, to a directory",
		Hidden: true,
		Args:   cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) > 1 {
				if err := documentPages(a[0], a[1:]); err != nil {
					return fmt.Errorf("cannot write the manual pages: %w", err)
				}
				return s.Done("man", 0, fmt.Sprintf("Wrote %d pages to %s.", len(a)-1, a[0]))
			}
			n := 0
			err := walk(c.Root(), func(cmd *cobra.Command) error {
				n++
				name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
				return os.WriteFile(filepath.Join(a[0], name), []byte(manPage(cmd)), 0o644)
			})
			if err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return s.Done("man", 0, fmt.Sprintf("Wrote %d pages to %s.", n, a[0]))
		},
	}
}

// walk visits a command and its visible subcommands.
func walk(c *cobra.Command, fn func(*cobra.Command) error) error {
	if err := fn(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Hidden || strings.HasPrefix(sub.Name(), "__") {
			continue
		}
		if err := walk(sub, fn); err != nil {
			return err
		}
	}
	return nil
}

// manPage is one command in man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	title := strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-"))
	fmt.Fprintf(&b, ".TH %s 1 \"\" fettle \"fettle manual\"\n", roff(title))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(strings.ReplaceAll(c.CommandPath(), " ", "-")), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", verbatim(description(c)))
	manFlags(&b, "OPTIONS", c.LocalNonPersistentFlags())
	manFlags(&b, "GLOBAL OPTIONS", globalFlags(c))
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", verbatim(c.Example))
	}
	b.WriteString(".SH SEE ALSO\n" + roff(seeAlso(c)) + "\n")
	return b.String()
}

func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

func globalFlags(c *cobra.Command) *pflag.FlagSet {
	if !c.HasParent() {
		return c.PersistentFlags()
	}
	used, out := cli.UsedBy(c), pflag.NewFlagSet("", pflag.ContinueOnError)
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(used, f.Name) {
			out.AddFlag(f)
		}
	})
	return out
}

func seeAlso(c *cobra.Command) string {
	var names []string
	if c.HasParent() {
		names = append(names, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && !strings.HasPrefix(sub.Name(), "__") {
			names = append(names, strings.ReplaceAll(sub.CommandPath(), " ", "-")+"(1)")
		}
	}
	return strings.Join(names, ", ")
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(usage))
	})
}

// roff protects a line from being read as requests of man(7).
func roff(text string) string { return guarded(escaped(text)) }

func escaped(text string) string { return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text) }

// guarded protects the first character of a line.
func guarded(text string) string {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// verbatim keeps the line breaks of help texts, which are laid out by hand.
func verbatim(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = roff(l)
	}
	return ".nf\n" + strings.Join(lines, "\n") + "\n.fi\n"
}
