package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refuseUnused refuses global flags that a command does not use.
func refuseUnused(c *cobra.Command) error {
	return refuseOthers(c, c.CommandPath(), UsedBy(c))
}

// refuseOthers refuses all global flags except used, with what as the subject of the error.
func refuseOthers(c *cobra.Command, what string, used []string) error {
	var unused []string
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(used, f.Name) {
			unused = append(unused, "--"+f.Name)
		}
	})
	if len(unused) == 0 {
		return nil
	}
	list := strings.Join(unused, " and ")
	return Misused(Refuse("Leave "+list+" out\nSee: "+c.CommandPath()+" --help", fmt.Sprintf("cannot use %s with %q: it has no effect there", list, what)))
}

// AllowOnly refuses what a mode of a command does not use: global flags other than --json and
// these.
func AllowOnly(c *cobra.Command, mode string, used ...[]string) error {
	return refuseOthers(c, c.CommandPath()+" "+mode, slices.Concat(alwaysUsed(), []string{"json"}, slices.Concat(used...)))
}
