package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shownBy are the global flags in the help of a command. A command that reads a repository only for
// the connections of targets accepts the limits of the compiler, but its help omits them.
func shownBy(c *cobra.Command) []string {
	used := UsedBy(c)
	if slices.Contains(used, "rev") || !slices.Contains(used, "ssh") {
		return used
	}
	return slices.DeleteFunc(used, func(f string) bool { return f != "chdir" && slices.Contains(readFlags(), f) })
}

// describeTarget adapts the help text of -t to a command: which targets it accepts, and its default.
func describeTarget(c *cobra.Command) {
	if f := c.InheritedFlags().Lookup("target"); f != nil {
		f.Usage = targetText(c)
	}
}

func targetText(c *cobra.Command) string {
	words, used := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), UsedBy(c)
	text := "work on this `TARGET`"
	if c.Annotations[ManyMark] != "" {
		text += ", or several: role:web, label:env=prod, 'web*'; see fettle docs targets"
	}
	switch {
	case slices.Contains([]string{"validate", "generate", "target list", "events", "notify set"}, words):
		return text + " (default: all targets)"
	case !slices.Contains(used, "root") || words == "target enrol":
		return text
	case slices.Contains(used, "rev") && words != "run":
		return text + " (default: the name of this host if it is declared, otherwise the only target)"
	}
	return text + " (default: this host)"
}

// helpOfUsed limits the global flags in the help of a command to the flags that the command uses. It
// wraps the descriptions of flags at width columns.
func helpOfUsed(root *cobra.Command, all []Group, width int) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if shown := shownBy(c); c.HasParent() {
			c.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || !slices.Contains(shown, f.Name) })
			describeTarget(c)
		}
		if !c.HasParent() {
			fmt.Fprint(c.OutOrStdout(), RootHelp(c, all))
			return
		}
		var text bytes.Buffer
		out := c.OutOrStdout()
		c.SetOut(&text)
		help(c, args)
		c.SetOut(out)
		fmt.Fprint(out, WrapFlags(text.String(), width))
	})
}
