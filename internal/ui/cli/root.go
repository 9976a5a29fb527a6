package cli

import (
	"context"
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

// Root is the complete command tree, for documentation and tests. Main builds its own.
func (a *App) Root() *cobra.Command {
	return newRoot(&Session{Printer: &Printer{App: a}, links: links{sudo: &sudoAnswer{}}})
}

// newRoot builds the whole command tree.
func newRoot(s *Session) *cobra.Command {
	root := bareRoot(s)
	for _, g := range s.App.Commands.Groups {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, build := range g.Commands {
			c := build(s)
			c.GroupID = g.ID
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("more")
	for _, build := range s.App.Commands.Hidden {
		root.AddCommand(build(s))
	}
	return root
}

// bareRoot is the command tree without commands.
func bareRoot(s *Session) *cobra.Command {
	root := &cobra.Command{
		Use:           "fettle",
		Short:         "Keep hosts in the state that a git repository describes",
		Long:          rootLong,
		Example:       "  fettle init hello && cd hello\n  fettle plan\n  sudo fettle apply\n  sudo fettle rollback",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          Args(0, 0),
		Version:       s.App.Version,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return s.chooseOne(c) }
	s.flags(root)
	helpOfUsed(root, s.App.Commands.Groups, s.widthOf(s.App.Terminal.Out))
	root.SetVersionTemplate(versionLine(s.App.Version))
	root.SetFlagErrorFunc(FlagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	return root
}

// NewCommand builds a command for a command line.
type NewCommand func(*Session) *cobra.Command

// Commands are the commands of a binary.
type Commands struct {
	Groups []Group      // as help shows them
	Hidden []NewCommand // that other fettle processes call
	// Serve is the command of a target that serves. It starts for every contact and has no use for any
	// other command, so it is built alone.
	Serve NewCommand
	// HubAccess reaches targets through the hub of a user; nil: all targets are reached over SSH.
	HubAccess func(*Session) HubAccess
	// FleetStatus shows the counts of the fleet, again after each change if watch is set; nil: this
	// binary cannot.
	FleetStatus func(ctx context.Context, s *Printer, watch bool) error
}

// Group is a set of related commands.
type Group struct {
	ID, Title string
	Short     string // the title on the first screen
	Commands  []NewCommand
}

// Args checks the number of arguments and names the usage when it is wrong.
func Args(low, high int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && (high < 0 || len(args) <= high) {
			return nil
		}
		if c.HasSubCommands() || !c.HasParent() {
			return UnknownCommand(c, args)
		}
		text := fmt.Sprintf("cannot run %q: it takes %s, not %d", c.CommandPath(), argCount(low, high), len(args))
		return Misused(Refuse("Usage: "+c.UseLine()+"\nSee: "+c.CommandPath()+" --help", text))
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

// FileExists is for flags and arguments that can be a path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
