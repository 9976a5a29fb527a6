package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

const rootLong = `fettle keeps hosts in the state that a git repository describes, and can undo
its changes.

A repository compiles to a list of atomic steps. fettle compares the list with
the applied state and with the host, shows the difference as a plan, and
runs it. Every step records its inverse before it acts.

Exit codes:
    0  success, or in sync
    1  error
    2  there are changes or drift (plan, diff, drift, steps diff, steps plan)
    3  a check failed
    4  locked: another fettle works on this host
    5  the plan is stale: the host has changed since
    6  the run was undone
    64 wrong usage: an unknown command or flag, a wrong number of arguments

Signals: the first SIGINT, SIGTERM or SIGHUP stops cleanly. Running steps are
finished or undone, and the journal records the result. A second signal ends
fettle at once; the next start recovers the run.`

// newRoot builds the whole command tree. The list of commands is here and
// nowhere else.
func newRoot(s *session) *cobra.Command {
	root := bareRoot(s)
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, build := range g.commands {
			c := build(s)
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("more")
	root.AddCommand(newMan(s), newWatch(s), newServe(s))
	return root
}

// servingRoot is the tree of a target that serves, which starts for every contact and
// has no use for any other command.
func servingRoot(s *session) *cobra.Command {
	root := bareRoot(s)
	root.AddCommand(newServe(s))
	return root
}

// bareRoot is the command tree without commands.
func bareRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:           "fettle",
		Short:         "Keep hosts in the state that a git repository describes",
		Long:          rootLong,
		Example:       "  fettle init hello && cd hello\n  fettle plan\n  sudo fettle apply\n  sudo fettle rollback",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          args(0, 0),
		Version:       s.app.Version,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return s.chooseOne(c) }
	s.flags(root)
	helpOfUsed(root, s.widthOf(s.app.Terminal.Out))
	root.SetVersionTemplate(versionLine(s.app.Version))
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	return root
}

// group is a set of related commands; short is its title on the first screen.
type group struct {
	id, short, title string
	commands         []func(*session) *cobra.Command
}

// args checks the number of arguments and names the usage when it is wrong.
func args(low, high int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && (high < 0 || len(args) <= high) {
			return nil
		}
		if c.HasSubCommands() || !c.HasParent() {
			return unknownCommand(c, args)
		}
		text := fmt.Sprintf("cannot run %q: it takes %s, not %d", c.CommandPath(), argCount(low, high), len(args))
		return misused(refuse("Usage: "+c.UseLine()+"\nSee: "+c.CommandPath()+" --help", text))
	}
}

func argCount(low, high int) string {
	switch {
	case high == 0:
		return "no argument"
	case low == high && low == 1:
		return "1 argument"
	case low == high:
		return fmt.Sprintf("%d arguments", low)
	case high < 0:
		return fmt.Sprintf("%d or more arguments", low)
	}
	return fmt.Sprintf("%d to %d arguments", low, high)
}

// fileExists is for flags and arguments that can be a path.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
